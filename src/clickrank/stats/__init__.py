"""Statistics: Beta priors, confidence intervals and sequences, and the bootstrap."""
