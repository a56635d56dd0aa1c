"""What is known of items before the first click: Beta priors, and where they come from."""

from clickrank.beta import Beta

__all__ = ["Beta"]
