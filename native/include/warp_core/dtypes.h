// Element types as the runtime sees them: a small id per type key of the compiler ("f32", "vec3<f32>", "struct ...").
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace wc {

enum class Kind : uint8_t { Bool, Int, Uint, Float, Bfloat, None };

// A scalar type; `size` in bytes. Kind::None stands for "no scalar": the element is a struct.
struct Scalar {
    Kind kind = Kind::None;
    uint8_t size = 0;
    bool operator==(const Scalar&) const = default;
};

// What a type key says about memory: `shape` are the dimensions of a packed type (vec3: 3; mat2x3: 2, 3).
struct Dtype {
    std::string key;
    std::string display;  // as the user writes it: float32, vec3f, mat22d, the name of a struct
    int64_t itemsize = 0;
    Scalar scalar;
    int rank = 0;
    int64_t shape[2] = {1, 1};
};

// Scalars: "f32". Packed: "vec3<f32>", "mat2x3<f64>", "quat<f32>", "transform<f32>". Anything else is opaque.
Dtype parse_dtype(std::string_view key, int64_t itemsize);

// The key of a scalar type that is not Kind::None.
std::string_view scalar_key(Scalar s);

// The id of a type, registering it on first use. Ids are dense and never change. Caller holds the GIL.
int type_id(std::string_view key, int64_t itemsize);
const Dtype& dtype(int id);  // throws std::out_of_range for an id that was never handed out
int dtype_count();

}  // namespace wc
