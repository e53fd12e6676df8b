"""The figures of the code are those of the code."""

from pathlib import Path

from bench.code import between_packages, cycles, graph_of, read, report


def package(folder: Path, **files: str) -> Path:
    """A package with these files; `a__b` is `a/b.py`."""
    root = folder / "antiphon"
    for name, code in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return root


def test_an_import_for_types_alone_closes_a_cycle(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a__one="from antiphon.a.two import f\n",
        a__two="if TYPE_CHECKING:\n    from antiphon.a import three\n",
        a__three="def f():\n    import antiphon.a.one\n",
        b__four="from antiphon.a.one import f\nfrom antiphon.a.two import g\nimport os\n",
    )
    modules = read(root)
    graph = graph_of(modules)
    assert cycles(graph) == [["a.one", "a.three", "a.two"]]
    assert between_packages(modules, graph) == {("b", "a"): 2}


def test_it_counts_the_lines_of_files_and_functions(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a__one="def f():\n    return 1\n\n\nclass A:\n    def g(self):\n        '''Doc.'''\n        return 2\n",
    )
    (one,) = read(root)
    assert (one.lines, [(each.name, each.lines) for each in one.functions]) == (8, [("a.one.f", 2), ("a.one.g", 3)])
    assert "longest function: a.one.g, 3 lines" in report(root)
