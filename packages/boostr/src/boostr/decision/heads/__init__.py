"""What reads probabilities out of hidden states: label tokens of the LM head, a pointer, a joint schema."""
