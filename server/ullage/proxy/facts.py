"""What an agent has reported about one session: model, window, mode, options, commands and the context's size."""

from typing import Any

from ullage.agents.acp import window_of_model
from ullage.agents.agent import Occupancy
from ullage.model.json_values import as_list, as_object, as_objects, as_text


class AgentFacts:
    """The newest facts about a session.

    - `window`, `occupancy`: in tokens; None until the agent reports them.
    - `reports_usage`: the agent sends `usage_update` itself.
    - `reports_model`: the agent names the model together with its token figures.
    - `has_commands`: the agent has sent a list of commands, which may be empty.
    """

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
        """Reads commands, options or the mode from a session update. Other updates change nothing."""
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
        """Sets the mode. A value that is not a name changes nothing."""
        self.mode = as_text(mode) or self.mode

    def take_config(self, result: dict[str, Any]) -> None:
        """Sets the config options, and the model if one of the options is the model."""
        for option in as_objects(result.get("configOptions")):
            self.config[as_text(option.get("id"))] = option.get("currentValue")
            if option.get("category") == "model" and not self.reports_model:
                self.model = as_text(option.get("currentValue"))

    def take_occupancy(self, occupancy: Occupancy, update: dict[str, Any] | None = None) -> None:
        """Sets the agent's newest figure.

        `update` is the update that contained the figure, or None if an answer did. A model reported with a figure is
        preferred to the model option, which may be an alias.
        """
        self.occupancy = occupancy
        if update is not None and update.get("sessionUpdate") == "usage_update":
            self.reports_usage = True
        self.window = occupancy.size or self.window
        if occupancy.model:
            self.model, self.reports_model = occupancy.model, True

    def forget_occupancy(self) -> None:
        """Drops the figure, because it belongs to another session of the agent."""
        self.occupancy = None
