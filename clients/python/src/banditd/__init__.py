"""The client of a banditd server. Start with Client or AsyncClient."""

from ._calls import Event, Trial
from ._errors import BanditdError, Conflict, DamagedStudies, Denied, Infeasible, NotFound, Refused, Unreachable
from .aio import AsyncClient, AsyncStudy
from .client import Client, Study

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "AsyncStudy",
    "BanditdError",
    "Client",
    "Conflict",
    "DamagedStudies",
    "Denied",
    "Event",
    "Infeasible",
    "NotFound",
    "Refused",
    "Study",
    "Trial",
    "Unreachable",
]
