"""Whether, and of which time, an adjoint reads what the arrays of a parameter held: before the launch or after it."""

NOT, BEFORE, AFTER = 0, 1, 2
