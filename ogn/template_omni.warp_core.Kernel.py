"""Layout of the Kernel node in Kit's property panel: the code first, then threads, the user's attributes, the state."""

from omni.kit.property.usd.custom_layout_helper import CustomLayoutFrame, CustomLayoutGroup, CustomLayoutProperty

GROUPS = {
    "Code": ("inputs:codeProvider", "inputs:codeStr", "inputs:codeFile", "inputs:kernels"),
    "Threads": ("inputs:dimSource", "inputs:dimCount", "inputs:dim1", "inputs:dim2", "inputs:dim3", "inputs:dim4"),
    "Run": ("inputs:device", "inputs:substeps", "inputs:reset"),
}
STATE = {"state:diagnostics": "Mistakes", "state:status": "Status"}
HIDDEN = ("inputs:execIn", "outputs:execOut", "state:userAttrDescs", "state:userAttrsEvent")


class CustomLayout:
    """The layout for one node."""

    enable = True

    def __init__(self, compute_node_widget):
        self.compute_node_widget = compute_node_widget

    def apply(self, props):
        """Return the properties in groups; parameters of the kernel have one of their own."""
        names = [prop.prop_name for prop in props]
        known = {name for group in GROUPS.values() for name in group} | set(STATE) | set(HIDDEN)
        frame = CustomLayoutFrame(hide_extra=True)
        with frame:
            for title, listed in GROUPS.items():
                self._group(title, {name: name.partition(":")[2] for name in listed if name in names})
            added = [name for name in names if name not in known and name.startswith(("inputs:", "outputs:", "state:"))]
            self._group("Parameters", {name: name for name in added})
            self._group("State", {name: title for name, title in STATE.items() if name in names})
        return frame.apply(props)

    @staticmethod
    def _group(title, rows):
        if rows:
            with CustomLayoutGroup(title):
                for name, label in rows.items():
                    CustomLayoutProperty(name, label)
