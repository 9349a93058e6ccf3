"""The parts of a type as `omni.graph.core` names them: base types and roles, which node classes compare.

Values follow Kit where the public documentation gives them.
"""

from enum import Enum

BaseDataType = Enum(
    "BaseDataType",
    "UNKNOWN BOOL UCHAR INT UINT INT64 UINT64 HALF FLOAT DOUBLE TOKEN RELATIONSHIP ASSET PRIM CONNECTION",
    start=0,
)
AttributeRole = Enum(
    "AttributeRole",
    "NONE VECTOR NORMAL POSITION COLOR TEXCOORD QUATERNION TRANSFORM FRAME TIMECODE TEXT APPLIED_SCHEMA PRIM_TYPE_NAME"
    " EXECUTION MATRIX OBJECT_ID BUNDLE PATH TARGET UNKNOWN",
    start=0,
)
SCALARS = {  # the base types of NumPy's
    "bool": "BOOL",
    "uint8": "UCHAR",
    "int32": "INT",
    "uint32": "UINT",
    "int64": "INT64",
    "uint64": "UINT64",
    "float16": "HALF",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
