"""The types of values of a grid, by the number that a grid buffer has for each. docs/volumes.md tells about them."""

GRID_TYPES = (
    "unknown", "float", "double", "int16", "int32", "int64", "vec3f", "vec3d", "mask", "half", "uint32", "bool",
    "rgba8", "fp4", "fp8", "fp16", "fpN", "vec4f", "vec4d", "index", "onindex", "indexmask", "onindexmask",
    "pointindex", "vec3u8", "vec3u16", "uint8",
)  # fmt: skip
