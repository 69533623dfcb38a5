"""`sottovoce plan`: what to expect, before anything is run."""

from typing import Annotated

import typer

from sottovoce.cli.options import Options, with_options
from sottovoce.cli.shared import AsJson, show
from sottovoce.rehearsal import plan


@with_options(without=("patience", "deadline", "seed"))
def plan_command(
    options: Options,
    rehearse: Annotated[bool, typer.Option(help="Play the plan in invented worlds, and say what to expect.")] = True,
    as_json: AsJson = None,
) -> None:
    """Say what to expect, by rehearsal, and what privacy costs; show the plan that would be followed."""
    made = plan(
        options.feasible_set,
        options.events,
        options.clipping,
        options.guarantee,
        rehearse=rehearse,
        **options.arguments,
    )
    show(as_json, made.to_dict(), str(made))
