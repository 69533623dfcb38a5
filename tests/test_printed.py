"""What is printed is what a notebook shows."""

from sottovoce._printed import Printed


class Spelled(Printed):
    def _parts(self):
        return [("heading", [("name", "text"), ("", "no name")])]


def test_notebooks_show_what_is_printed():
    class Printer(list):
        text = list.append

    printer = Printer()
    Spelled()._repr_pretty_(printer, cycle=False)
    assert printer == [str(Spelled())] == ["heading\n  name     text\n  no name"]
