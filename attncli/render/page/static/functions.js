/* The functions of plans on values, by the names that nodes have for them. */

/** The functions: each takes the values of a node's inputs by argument, its options, and what inner quantities go to. */
export const FUNCTIONS = {
  identity: ({ x }) => x,
};
