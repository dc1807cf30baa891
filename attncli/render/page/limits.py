"""How much a page holds."""

EVERY_STEP = 200_000  # numbers of all steps together up to which a page has every step
SELECTED = 2_000_000  # numbers of the selected results, which are what a page of a larger problem has
WORKED_CELLS = 1_500  # cells whose arithmetic the program writes, since the page does not have their function
