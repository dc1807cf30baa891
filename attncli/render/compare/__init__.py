"""The content of a comparison, independent of its format: labels of variants, tables, statistics, differences."""
