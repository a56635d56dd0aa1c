"""Statistics: Beta priors, confidence intervals and the bootstrap."""
