"""What an agent has reported of one session: model, window, mode, options, commands, and how full the context is."""

from typing import Any

from ullage.agents.acp import window_of_model
from ullage.agents.agent import Occupancy
from ullage.model.json_values import as_list, as_object, as_objects, as_text


class AgentFacts:
    """The newest facts. `window` and `occupancy` are None until the agent reports them. `reports_usage`: the agent
    sends `usage_update` itself. `reports_model`: it names the model with its figures. `has_commands`: it has sent a
    list of commands, which may be empty."""

    def __init__(self) -> None:
        self.model = ""
        self.window: int | None = None
        self.mode = ""
        self.config: dict[str, Any] = {}
        self.commands: list[Any] = []
        self.has_commands = False
        self.occupancy: Occupancy | None = None
        self.reports_usage = False
        self.reports_model = False

    @property
    def command_names(self) -> set[str]:
        """The names of the agent's slash commands."""
        return {as_text(command.get("name")) for command in as_objects(self.commands)}

    def take_opened(self, result: dict[str, Any]) -> None:
        """Reads the answer to `session/new`, `load`, `resume` or `fork`."""
        self.take_mode(as_object(result.get("modes")).get("currentModeId"))
        self.take_config(result)
        models = as_object(result.get("models"))
        current = as_text(models.get("currentModelId"))
        if current and not self.model:
            self.model = current
        for model in as_objects(models.get("availableModels")):
            if model.get("modelId") == current and self.window is None:
                self.window = window_of_model(model)

    def take_update(self, update: dict[str, Any]) -> None:
        """Reads a session update: offers, options and the mode. Other updates change nothing."""
        match update.get("sessionUpdate"):
            case "available_commands_update":
                self.commands, self.has_commands = as_list(update.get("availableCommands")), True
            case "config_option_update":
                self.take_config(update)
            case "current_mode_update":
                self.take_mode(update.get("currentModeId"))
            case _:
                pass

    def take_mode(self, mode: Any) -> None:
        """The mode as it is now; anything but a name changes nothing."""
        self.mode = as_text(mode) or self.mode

    def take_config(self, result: dict[str, Any]) -> None:
        """The config options as they are now."""
        for option in as_objects(result.get("configOptions")):
            self.config[as_text(option.get("id"))] = option.get("currentValue")
            if option.get("category") == "model" and not self.reports_model:
                self.model = as_text(option.get("currentValue"))

    def take_occupancy(self, occupancy: Occupancy, update: dict[str, Any] | None = None) -> None:
        """The agent's newest figure, and the update that it came in, if it did not come with an answer. A model that is
        reported with it counts more than an option, which may be an alias."""
        self.occupancy = occupancy
        if update is not None and update.get("sessionUpdate") == "usage_update":
            self.reports_usage = True
        self.window = occupancy.size or self.window
        if occupancy.model:
            self.model, self.reports_model = occupancy.model, True

    def forget_occupancy(self) -> None:
        """The figure was of another session of the agent's."""
        self.occupancy = None
