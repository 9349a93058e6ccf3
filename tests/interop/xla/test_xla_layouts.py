"""The layouts of native/include/warp_core/xla_ffi.h are those of the header that jaxlib brings."""

import os
import shutil
import subprocess
from pathlib import Path

import jaxlib
import pytest

ROOT = Path(__file__).resolve().parents[3]
# Our struct -> theirs, and field by field.
STRUCTS = {
    "Extension": ("Extension_Base", "struct_size:struct_size type:type next:next"),
    "Version": ("Api_Version", "major:major_version minor:minor_version"),
    "Metadata": ("Metadata", "version:api_version traits:traits"),
    "MetadataExtension": ("Metadata_Extension", "base:extension_base metadata:metadata"),
    "Buffer": ("Buffer", "dtype:dtype data:data rank:rank dims:dims"),
    "Text": ("ByteSpan", "data:ptr size:len"),
    "ScalarAttribute": ("Scalar", "dtype:dtype value:value"),
    "ArrayAttribute": ("Array", "dtype:dtype size:size data:data"),
    "Buffers": ("Args", "size:size types:types values:args"),
    "Attributes": ("Attrs", "size:size types:types names:names values:attrs"),
    "ErrorCreate": ("Error_Create_Args", "message:message code:errc"),
    "StreamGet": ("Stream_Get_Args", "context:ctx stream:stream"),
    "Api": ("Api", "version:api_version error_create:XLA_FFI_Error_Create stream_get:XLA_FFI_Stream_Get"),
    "CallFrame": (
        "CallFrame",
        "api:api context:ctx stage:stage operands:args results:rets attributes:attrs",
    ),
}
CONSTANTS = {
    **{
        f"k{t.title()}": f"DataType_{t}"
        for t in ["PRED", "S8", "S16", "S32", "S64", "U8", "U16", "U32", "U64", "F16", "F32", "F64", "BF16"]
    },
    "kArray": "AttrType_ARRAY",
    "kDictionary": "AttrType_DICTIONARY",
    "kScalar": "AttrType_SCALAR",
    "kString": "AttrType_STRING",
    "kBuffer": "ArgType_BUFFER",
    "kExecute": "ExecutionStage_EXECUTE",
    "kMetadataExtension": "Extension_Metadata",
    "kInvalidArgument": "Error_Code_INVALID_ARGUMENT",
    "kFailedPrecondition": "Error_Code_FAILED_PRECONDITION",
    "kUnimplemented": "Error_Code_UNIMPLEMENTED",
    "kInternal": "Error_Code_INTERNAL",
}


def test_layouts(tmp_path):
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no compiler")
    asserts = [
        f"static_assert(offsetof(wc::xla::{ours}, {a}) == offsetof(XLA_FFI_{theirs}, {b}));"
        for ours, (theirs, fields) in STRUCTS.items()
        for a, _, b in (pair.partition(":") for pair in fields.split())
    ]
    asserts += [f"static_assert(int(wc::xla::{a}) == int(XLA_FFI_{b}));" for a, b in CONSTANTS.items()]
    header = Path(jaxlib.__file__).parent / "include/xla/ffi/api/c_api.h"
    source = tmp_path / "layouts.cpp"
    source.write_text(f'#include "warp_core/xla_ffi.h"\n#include "{header}"\n' + "\n".join(asserts))
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT}/native/include", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
