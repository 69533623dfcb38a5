"""What a study knows: the epoch that has learned most, whichever process taught it. Released values only."""

from sqlalchemy import Connection

from sottovoce.exploration.posterior import Misfit, Posterior
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.recommendation import Recommendation, believed, best_informed, misfit_of, recommended
from sottovoce.studies.session.following import older_epochs
from sottovoce.studies.session.session import Session

__all__ = ["misfit_at_hand", "posterior_of", "recommendation_of"]


def recommendation_of(session: Session) -> Recommendation:
    """Return the decision to take home."""
    older = session.submit(lambda connection: _closed_before(session, connection))
    with session.at_rest():
        best, problem = _best(session, older), session.state.problem
        return recommended(best, problem) if best is None else best.counting(lambda: recommended(best, problem))


def posterior_of(session: Session) -> Posterior | None:
    """Return what is believed; None if nothing was asked yet."""
    older = session.submit(lambda connection: _closed_before(session, connection))
    with session.at_rest():
        epochs = session.state.epochs
        known = _best(session, older) or (epochs[max(epochs)] if epochs else None)
        return None if known is None else believed(known)


def misfit_at_hand(session: Session) -> Misfit | None:
    """Return how well what was released fits the model, by the epochs at hand; the state is at rest."""
    return misfit_of(_best(session, None))


def _closed_before(session: Session, connection: Connection) -> Epoch | None:
    """Return the newest of the epochs that are closed that knows anything."""
    return next((one for one in older_epochs(session.state, connection) if best_informed([one])), None)


def _best(session: Session, older: Epoch | None) -> Epoch | None:
    at_hand = [epoch for _, epoch in sorted(session.state.epochs.items(), reverse=True)]
    return best_informed([*at_hand, *([] if older is None else [older])])
