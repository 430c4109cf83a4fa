"""Writes centrifugo.txt: every option of Centrifugo with its type and default, from the tags of its structures in Go.

    python3 extract.py DIRECTORY_OF_CENTRIFUGO_6

Lines are `path type default`; `-` is no default. Items of lists have `[]` in their path.
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]) / "internal"
files = [path for path in (root / "configtypes").glob("*.go") if not path.name.endswith("_test.go")]
source = "\n".join(path.read_text() for path in files)
source += (root / "config" / "config.go").read_text().replace("configtypes.", "")

structures = {}
for match in re.finditer(r"^type (\w+) struct \{\n(.*?)^\}", source, re.S | re.M):
    fields = []
    for line in match.group(2).split("\n"):
        line = line.strip()
        tagged = re.match(r"(\w+)\s+([\w.\[\]*]+)\s+`(.*)`", line)
        inlined = re.match(r"(\w+)\s+`.*`", line) or re.match(r"(\w+)$", line)
        if line.startswith("//") or not line:
            continue
        if tagged:
            name = re.search(r'mapstructure:"([^"]*)"', tagged.group(3)) or re.search(r'json:"([^"]*)"', tagged.group(3))
            default = re.search(r'default:"([^"]*)"', tagged.group(3))
            fields.append((name.group(1) if name else "", tagged.group(2), default.group(1) if default else ""))
        elif inlined:
            fields.append((",squash", inlined.group(1), ""))
    structures[match.group(1)] = fields
aliases = dict(re.findall(r"^type (\w+) (\[\]\w+|map\[\w+\]\w+)$", source, re.M))

KINDS = {"bool": "bool", "string": "text", "PEMData": "text", "Duration": "duration", "[]string": "texts",
         "[]centrifuge.DeltaType": "texts", "map[string]string": "map", "[]StringKeyValue": "map"}


def walk(structure, prefix, out):
    for name, kind, default in structures[structure]:
        if name == "-" or kind == "Compiled":
            continue
        if ",squash" in name:
            walk(kind, prefix, out)
            continue
        path = f"{prefix}.{name}" if prefix else name
        kind = aliases.get(kind, kind)
        base = kind.lstrip("[]*")
        if kind in KINDS or base not in structures:
            kind = KINDS.get(kind, "int")
            out.append(f"{path} {kind} {default if default not in ('', '{}', '[]') else '-'}")
        elif kind.startswith("[]"):
            out.append(f"{path} list -")
            walk(base, path + "[]", out)
        else:
            walk(base, path, out)


lines = []
walk("Config", "", lines)
pathlib.Path(__file__).with_name("centrifugo.txt").write_text("\n".join(lines) + "\n")
print(len(lines), "options")
