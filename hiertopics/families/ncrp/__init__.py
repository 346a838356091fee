"""Trees of topics whose shape is unknown: mixtures under the nested Chinese restaurant process."""
