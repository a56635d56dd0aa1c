"""Statistics that know no policy: distributions of beliefs, intervals, resampling."""
