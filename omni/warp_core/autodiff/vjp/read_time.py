"""Read-time analysis: does an adjoint read the elements of a parameter, and from before or after the launch?"""

NOT, BEFORE, AFTER = 0, 1, 2
