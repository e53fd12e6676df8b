"""The list of models in the form of the Messages API: `GET /v1/models` with the header
`anthropic-version`.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from antiphon.errors import NotFoundError

USUAL_LIMIT = 20
MOST = 1000

_DAY = 86_400


class ListedModel(Struct, frozen=True, kw_only=True):
    """A model that a client can name.

    `created` is in seconds since the epoch, sizes are in tokens.
    """

    id: str
    created: int = 0
    display_name: str = ""
    max_input_tokens: int | None = None
    max_tokens: int | None = None
    sees_images: bool | None = None


def model_info(model: ListedModel) -> dict[str, Any]:
    """Return one model as the API sends it."""
    info: dict[str, Any] = {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name or model.id,
        "created_at": rfc3339(model.created),
        "lifecycle": "active",
        "max_input_tokens": model.max_input_tokens,
        "max_tokens": model.max_tokens,
    }
    if model.sees_images is not None:
        info["capabilities"] = {"image_input": {"supported": model.sees_images}}
    return info


def models_page(
    models: Sequence[ListedModel],
    *,
    limit: int = USUAL_LIMIT,
    after_id: str = "",
    before_id: str = "",
) -> dict[str, Any]:
    """Return a page of models, the newest first: those after, or before, the model with an id.

    `limit` is between 1 and `MOST`. Raises `NotFoundError` for an id that no model has.
    """
    ordered = sorted(models, key=lambda model: -model.created)
    names = [model.id for model in ordered]
    limit = max(1, min(limit, MOST))
    start = 0
    end = len(ordered)
    if before_id:
        end = _place(names, before_id)
        start = max(0, end - limit)
        has_more = start > 0
    else:
        start = _place(names, after_id) + 1 if after_id else 0
        has_more = start + limit < end
        end = min(end, start + limit)
    page = [model_info(model) for model in ordered[start:end]]
    return {
        "data": page,
        "has_more": has_more,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
    }


def _place(names: Sequence[str], name: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise NotFoundError(name[:512], code="model_not_found") from None


def rfc3339(seconds: float) -> str:
    """Return a time since the epoch as RFC 3339 writes it, in UTC: `2026-11-28T12:00:00Z`."""
    days, rest = divmod(int(seconds), _DAY)
    year, month, day = _date(days)
    return f"{year:04d}-{month:02d}-{day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}Z"  # noqa: E501 - one text, or a row of a table


def _date(days: int) -> tuple[int, int, int]:
    """Return the date of a day since the epoch.

    The algorithm counts years from March, so that leap days are last.
    """
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * of_year + 2) // 153
    day = of_year - (153 * march_month + 2) // 5 + 1
    month = march_month + 3 if march_month < 10 else march_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day
