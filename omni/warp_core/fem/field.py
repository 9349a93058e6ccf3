"""`wp.fem.field`: the classes of fields, for annotations and checks. Functions of `wp.fem` make them."""

from __future__ import annotations

from .spaces.fields import DiscreteField as DiscreteField
from .spaces.fields import FieldLike as FieldLike
from .spaces.fields import FieldRestriction as FieldRestriction
from .spaces.fields import GeometryField as GeometryField
from .spaces.fields import SpaceField as SpaceField
from .spaces.fields import TestField as TestField
from .spaces.fields import TrialField as TrialField
from .spaces.fields import UniformField as UniformField
