"""What an agent has reported about one session: model, window, mode, config options, slash commands and the context's
size."""

from typing import Any

from ullage.agents.acp import window_of_model
from ullage.agents.agent import Occupancy
from ullage.model.json_values import as_list, as_object, as_objects, as_text


class AgentFacts:
    """The newest facts that the agent has reported about a session.

    - `window`, `occupancy`: in tokens; None until the agent reports them.
    - `config`: the values of the config options, by option id, and `options`: the options as the agent sent them.
    - `reports_usage`: the agent sends `usage_update` itself, and has done so since the last turn but one ended.
    - `reports_model`: the agent has named the model together with a token figure.
    - `has_commands`: the agent has sent a list of slash commands, which may be empty.
    """

    def __init__(self) -> None:
        self.model = ""
        self.window: int | None = None
        self.mode = ""
        self.config: dict[str, Any] = {}
        self.options: list[Any] = []
        self.commands: list[Any] = []
        self.has_commands = False
        self.occupancy: Occupancy | None = None
        self.reports_usage = False
        self.reports_model = False
        # Whether the agent sent `usage_update` since the last turn ended, and whether `occupancy` is not recorded.
        self._has_reported, self._is_new = False, False

    @property
    def command_names(self) -> set[str]:
        """The names of the agent's slash commands, without the slash."""
        return {as_text(command.get("name")) for command in as_objects(self.commands)}

    def take_opened(self, result: dict[str, Any]) -> None:
        """Stores the mode, the config options, the slash commands, the model and the window from the agent's result of
        `session/new`, `load`, `resume` or `fork`. A model or window that is known already is kept."""
        if "availableCommands" in result:
            self._take_commands(result)
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
        """Stores the slash commands, the config options or the mode from a session update. Ignores other updates."""
        match update.get("sessionUpdate"):
            case "available_commands_update":
                self._take_commands(update)
            case "config_option_update":
                self.take_config(update)
            case "current_mode_update":
                self.take_mode(update.get("currentModeId"))
            case _:
                pass

    def _take_commands(self, said: dict[str, Any]) -> None:
        self.commands, self.has_commands = as_list(said.get("availableCommands")), True

    def take_mode(self, mode: Any) -> None:
        """Stores the mode's id. Ignores a value that is not a string, or ""."""
        self.mode = as_text(mode) or self.mode

    def take_config(self, result: dict[str, Any]) -> None:
        """Stores the values of the config options in an agent's result or update. If one of them is the model, stores
        it as the model, unless the agent reports the model with its figures."""
        self.options = as_list(result.get("configOptions")) or self.options
        for option in as_objects(result.get("configOptions")):
            self.config[as_text(option.get("id"))] = option.get("currentValue")
            if option.get("category") == "model" and not self.reports_model:
                self.model = as_text(option.get("currentValue"))

    def take_occupancy(self, occupancy: Occupancy, update: dict[str, Any] | None = None) -> None:
        """Stores the agent's newest figure of the tokens in its context, and the window and model that came with it.

        `update` is the session update that contained the figure, or None if an answer contained it. A model reported
        with a figure is preferred to the model option, which may be an alias.
        """
        self.occupancy, self._is_new = occupancy, True
        if update is not None and update.get("sessionUpdate") == "usage_update":
            self.reports_usage = self._has_reported = True
        self.window = occupancy.size or self.window
        if occupancy.model:
            self.model, self.reports_model = occupancy.model, True

    @property
    def reported(self) -> int | None:
        """The tokens in the context as an agent that reports them has last done; None if it doesn't, or no longer."""
        return self.occupancy.used if self.reports_usage and self.occupancy else None

    def take_new(self) -> Occupancy | None:
        """Returns, once, the newest figure of the tokens in the context."""
        is_new, self._is_new = self._is_new, False
        return self.occupancy if is_new else None

    def end_turn(self) -> None:
        """Notes that a turn has ended. Without a report in it, or after the one before, the agent's last figure is that
        of an earlier context: some agents report at intervals, or stop."""
        self.reports_usage &= self._has_reported
        self._has_reported = False

    def forget_occupancy(self) -> None:
        """Sets `occupancy` to None, because the figure belongs to the agent's session that the conversation has
        left."""
        self.occupancy = None
