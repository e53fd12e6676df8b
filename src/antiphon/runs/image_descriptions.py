"""Images for a model without vision: another model describes them, and it receives the texts."""

from msgspec.structs import replace

from antiphon.errors import log
from antiphon.history.vision import Vision
from antiphon.protocol.response import Usage
from antiphon.runs.call_costs import CallCosts
from antiphon.runs.plan import RunPlan
from antiphon.runs.steps import AuxiliaryCall, CallModel
from antiphon.translation.to_chat_completions.vision import described, images_in
from antiphon.upstream.permitted import check_permitted
from antiphon.upstream.registry import ModelRegistry


async def with_descriptions(
    step: CallModel | AuxiliaryCall,
    plan: RunPlan,
    vision: Vision,
    models: ModelRegistry,
    costs: CallCosts,
) -> CallModel | AuxiliaryCall:
    """Return the step with texts in place of its images; the calls for them are added to `costs`.

    Raises `BackendError` if an image cannot be described, `ClientError` if the request's key does
    not allow the model that describes it.
    """
    target = plan.route.target
    images = images_in(step.body, step.api)
    if not images or plan.request.model == vision.model:
        return step
    check_permitted(vision.model, "The description of images", "input")
    is_stored = plan.request.store is not False

    def see(usage: Usage) -> None:
        costs.add_description(usage, models.known.get(vision.model, ()))

    texts = await vision.describe(images, plan.context.tenant, see, is_stored=is_stored)
    log.info(
        "The model '%s' has no vision. Images described by '%s': %d.",
        target.name,
        vision.model,
        len(texts),
    )
    return replace(step, body=described(step.body, step.api, target.dialect, texts.__getitem__))
