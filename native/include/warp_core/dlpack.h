// The structs of DLPack 1.3 (https://dmlc.github.io/dlpack/latest/c_api.html): capsules of version 0.8 and 1.x, and the
// table of functions that a class offers as `__dlpack_c_exchange_api__`.
#pragma once
#include <cstdint>

namespace wc::dlpack {

// kinds of devices
constexpr int32_t kHost = 1, kCuda = 2, kPinned = 3, kManagedMemory = 13;
// kinds of numbers
constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6;
// bits of Managed::flags
constexpr uint64_t kReadOnly = 1, kCopied = 2;
constexpr uint32_t kMajor = 1, kMinor = 3;
constexpr const char* kTableName = "dlpack_exchange_api";

struct Device {
    int32_t type, id;
};

struct Tensor {
    void* data;
    Device device;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;  // in elements; without strides: C order
    uint64_t offset;           // in bytes
};

// What a capsule of version 0.8 has.
struct Unversioned {
    static constexpr const char *fresh = "dltensor", *used = "used_dltensor";
    Tensor tensor;
    void* context;
    void (*deleter)(Unversioned*);
};

struct Version {
    uint32_t major, minor;
};

struct Managed {
    static constexpr const char *fresh = "dltensor_versioned", *used = "used_dltensor_versioned";
    Version version;
    void* context;
    void (*deleter)(Managed*);
    uint64_t flags;
    Tensor tensor;
};

// Functions return 0, or -1 with a Python exception. None waits for work of a GPU.
struct Table {
    Version version;
    Table* previous;  // of an older major version
    int (*allocate)(Tensor* prototype, Managed** out, void* context,
                    void (*set_error)(void* context, const char* kind, const char* message));
    int (*from_object)(void* object, Managed** out);
    int (*to_object)(Managed* tensor, void** out);
    int (*borrow)(void* object, Tensor* out);  // may be null; what it gives lives as long as the object
    int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace wc::dlpack
