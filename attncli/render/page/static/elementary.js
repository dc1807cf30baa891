/* Elementary functions that JavaScript lacks, and activations. */

/** 1 / (1 + exp(−x)), without overflow. */
export function logistic(x) {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

/** The nonlinearities of a hidden layer. */
export const ACTIVATIONS = { tanh: Math.tanh, relu: (x) => Math.max(x, 0), sigmoid: logistic, identity: (x) => x };
