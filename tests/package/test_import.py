"""`import omni.warp_core` does nothing but import: no heavy module, no work, right names."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import omni.warp_core as wp

HEAVY = ("llvmlite", "pxr", "torch", "jax", "paddle", "cuda", "scipy", "PIL", "rich")


def modules_after(code: str, *args: str) -> set[str]:
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=True).stdout
    return set(json.loads(out.splitlines()[-1]))


def test_import_loads_only_the_package_itself():
    loaded = modules_after("import omni.warp_core")
    assert [m for m in loaded if m.startswith("omni.warp_core.")] == []
    assert not {m.partition(".")[0] for m in loaded} & {*HEAVY, "numpy"}


def test_declaring_a_kernel_loads_no_compiler():
    loaded = modules_after(
        "import omni.warp_core as wp\n@wp.func\ndef f(x: wp.vec3): return x\n@wp.kernel\ndef k(a: int): pass\n"
    )
    stages = ("front", "passes", "codegen", "ir")
    assert [m for m in loaded if m.startswith(tuple(f"omni.warp_core.{s}." for s in stages))] == []
    assert not {m.partition(".")[0] for m in loaded} & set(HEAVY)


def test_calling_a_builtin_loads_no_compiler_and_no_numpy():
    loaded = modules_after("import omni.warp_core as wp\nassert wp.dot(wp.vec3(1.0), wp.vec3(2.0)) == 6.0\n")
    assert not {m.partition(".")[0] for m in loaded} & {*HEAVY, "numpy"}


KERNEL = """import omni.warp_core as wp
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = wp.sqrt(4.0)
"""
LAUNCH = """
import numpy, sys
import omni.warp_core as wp
wp.config.kernel_cache_dir = sys.argv[1]
sys.path.insert(0, sys.argv[1])
import kernels
x = wp.zeros(3, dtype=float)
wp.launch(kernels.k, 3, [x])
assert x.list() == [2.0] * 3
"""
# What a launch of a kernel that is in the cache takes: names and data types, hashes of kernels, arrays and devices.
LAUNCHES = {
    "lang": """annotations array_structs array_structs.array_struct_types array_structs.fabric_annotation
        array_structs.indexed_annotation arrays blake2 custom_gradients deep_recursion errors generics inference
        kernel kernel_module kernel_options kernel_transforms keys launch_constants prim ref_params registry semantics
        source source_recovery types values values.scalars values.struct_memory values.struct_operators
        values.structs values.type_registry values.value_classes values.value_methods""",
    "lib": "builtin_index geometry geometry.structure_ids scalar_functions volumes volumes.grid_types",
    "ir": "launch_facts nodes",
    "front": "code_lines content_hash static_expressions warnings",
    "codegen": "target",
    "dispatch": "call_site capture captured_graph observers operation",
    "devices": "cuda_capture cuda_memory descriptor_memory device stream",
    "arrays": """accumulate array array_data array_operators array_text attribute_hints copy cuda_interface dlpack
        dtypes elements factories grad_binding indexed_array interchange keepalive layouts reshaping selections
        transfer""",
    "launches": """ahead_table artifact backward_settings block_size captured_constants kernel_cache kernel_errors
        launch overloads plans""",
}


def test_a_cached_launch_loads_neither_compiler_nor_gradients(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL)
    modules_after(LAUNCH, str(tmp_path))  # fills the cache
    loaded = modules_after(LAUNCH, str(tmp_path)) - modules_after("import numpy")
    own = {name.removeprefix("omni.warp_core.") for name in loaded if name.startswith("omni.warp_core.")}
    allowed = {f"{part}.{name}" for part, names in LAUNCHES.items() for name in names.split()}
    extra = {name for name in own - allowed - LAUNCHES.keys() if not name.startswith("_native")}
    extra -= {"compiler", "config", "files", "late_bound", "logger"}
    assert not extra, f"launching also loads {sorted(extra)}"
    assert not {name.partition(".")[0] for name in loaded} & {*HEAVY, "difflib", "fractions", "tempfile"}


def test_modules_are_not_asked_for_what_they_lack_when_a_kernel_is_launched(tmp_path):
    """The package, which kernels mention as `wp`, looks for the nearest name when it lacks one: that takes long."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    modules_after(LAUNCH.replace("import kernels\n", "import kernels\nwp._unknown = None\n"), str(tmp_path))


def test_every_listed_name_resolves():
    for name in dir(wp):
        getattr(wp, name)


def test_names_are_the_objects_of_their_modules():
    from omni.warp_core.lang import kernel
    from omni.warp_core.lang.values import scalars, value_classes

    assert wp.kernel is kernel.kernel
    assert wp.float32 is scalars.float32
    assert wp.vec3 is value_classes.vec3
    assert wp.vec3 is wp.vec3f


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(AttributeError, match=r"did you mean wp\.kernel"):
        wp.kernal
    assert not hasattr(wp, "__no_such_dunder__")


def test_a_source_tree_without_its_native_module_says_what_to_do(tmp_path):
    package = tmp_path / "omni" / "warp_core"
    shutil.copytree(Path(wp.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport omni.warp_core as wp\nwp.vec3(1.0)"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"ImportError: omni.warp_core is imported from {package}, a source tree" in done.stderr
    assert "make build" in done.stderr and "another folder" in done.stderr


def test_init_may_be_called_again():
    wp.init()
    wp.init()


def test_one_version_everywhere():
    program = "import omni.warp_core as wp; print(wp.__version__, wp.config.version)"  # as_warp changes them
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{shown[0]}"' in pyproject and shown[1] == shown[0]


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("wp.kernal", "has no name 'kernal'; did you mean wp.kernel?"),
        ("wp.zeros(3).tolist()", "arrays have no `tolist`: write `a.numpy().tolist()`"),
    ],
)
def test_python_adds_no_second_suggestion(code, ending):
    program = f"import omni.warp_core as wp; {code}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].endswith(ending)
