// The C interface between XLA and functions that it calls, declared here so that the build needs no JAX. The layouts
// are those of xla/ffi/api/c_api.h of XLA (Apache License 2.0), as far as jaxlib 0.4.38 to 0.10 have the same.
// tests/interop/xla/test_xla_layouts.py compares them with the header of the installed jaxlib. Every struct begins with
// its size, which grows with versions. Start with CallFrame.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wc::xla {

constexpr int kMajor = 0, kMinor = 1;  // the version of the interface that these layouts need

struct Extension {
    size_t struct_size;
    int32_t type;
    Extension* next;
};
constexpr int32_t kMetadataExtension = 1;

struct Version {
    size_t struct_size;
    Extension* extensions;
    int32_t major, minor;
};

struct Metadata {
    size_t struct_size;
    Version version;
    uint32_t traits;
};
constexpr uint32_t kCommandBufferCompatible = 1;

struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

// The numbers of element types.
enum DataType : int32_t {
    kPred = 1,
    kS8 = 2,
    kS16 = 3,
    kS32 = 4,
    kS64 = 5,
    kU8 = 6,
    kU16 = 7,
    kU32 = 8,
    kU64 = 9,
    kF16 = 10,
    kF32 = 11,
    kF64 = 12,
    kBf16 = 16,
};

// An operand or a result: dense, in C order.
struct Buffer {
    size_t struct_size;
    Extension* extensions;
    int32_t dtype;
    void* data;
    int64_t rank;
    int64_t* dims;
};

struct Text {
    const char* data;
    size_t size;
};

enum AttributeType : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };

struct ScalarAttribute {
    int32_t dtype;
    void* value;
};

struct ArrayAttribute {
    int32_t dtype;
    size_t size;
    void* data;
};

// Operands or results; `types` has kBuffer for each.
struct Buffers {
    size_t struct_size;
    Extension* extensions;
    int64_t size;
    int32_t* types;
    void** values;
};
constexpr int32_t kBuffer = 1;

struct Attributes {
    size_t struct_size;
    Extension* extensions;
    int64_t size;
    int32_t* types;
    Text** names;
    void** values;
};

struct Error;
struct Context;

enum ErrorCode : int32_t {
    kInvalidArgument = 3,
    kFailedPrecondition = 9,
    kUnimplemented = 12,
    kInternal = 13,
};

struct ErrorCreate {
    size_t struct_size;
    Extension* extensions;
    const char* message;
    int32_t code;
};

struct StreamGet {
    size_t struct_size;
    Extension* extensions;
    Context* context;
    void* stream;
};

// The functions of XLA; those that are not declared differ between versions, or are not used.
struct Api {
    size_t struct_size;
    Extension* extensions;
    Version version;
    const void* internal;
    Error* (*error_create)(ErrorCreate*);
    void* error_get_message;
    void* error_destroy;
    void* handler_register;
    Error* (*stream_get)(StreamGet*);
};

enum Stage : int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

// A call of a function. Newer versions add fields at the end.
struct CallFrame {
    size_t struct_size;
    Extension* extensions;
    const Api* api;
    Context* context;
    int32_t stage;
    Buffers operands;
    Buffers results;
    Attributes attributes;
};

using Handler = Error*(CallFrame*);

// The size of a struct up to and including a field, in the way that XLA counts.
#define WC_XLA_SIZE(type, last) (offsetof(type, last) + sizeof(((type*)nullptr)->last))

}  // namespace wc::xla
