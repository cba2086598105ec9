"""Notifications on the desktop, by a program that the operating system has for them."""

import logging
import os
import subprocess
import sys
from shutil import which

from ullage.model.settings import Notices

log = logging.getLogger(__name__)
_TITLE = "Ullage"
# Characters. Systems cut longer texts.
_LONGEST = 300
# Seconds after which a program that hangs is ended.
_PATIENCE = 10
_APPLE = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
# The texts come in variables of the environment, so that nothing of them is a command.
_WINDOWS = """
[void][Windows.UI.Notifications.ToastNotificationManager,Windows.UI.Notifications,ContentType=WindowsRuntime]
$kind = [Windows.UI.Notifications.ToastTemplateType]::ToastText02
$toast = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($kind)
$texts = $toast.GetElementsByTagName('text')
[void]$texts[0].AppendChild($toast.CreateTextNode($env:ULLAGE_NOTICE_TITLE))
[void]$texts[1].AppendChild($toast.CreateTextNode($env:ULLAGE_NOTICE_TEXT))
$shown = [Windows.UI.Notifications.ToastNotification]::new($toast)
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('Ullage').Show($shown)
"""


def notifier() -> str:
    """Returns the name of the program that shows notifications on this system."""
    return {"darwin": "osascript", "win32": "powershell"}.get(sys.platform, "notify-send")


def shows(notices: Notices) -> bool:
    """Returns whether the user wants the system's notifications, and its program for them is there."""
    return notices is Notices.DESKTOP and which(notifier()) is not None


def notify(text: str) -> bool:
    """Shows a notification of one line. Blocks at most ten seconds. Returns whether the system took it."""
    program = which(notifier())
    if program is None:
        log.warning("%s is not there, so nothing was shown on the desktop: %s", notifier(), text)
        return False
    text = " ".join("".join(one if one.isprintable() else " " for one in text).split())[:_LONGEST]
    match sys.platform:
        case "darwin":
            words = [program, *(word for line in _APPLE for word in ("-e", line)), _TITLE, text]
        case "win32":
            words = [program, "-NoProfile", "-NonInteractive", "-Command", _WINDOWS]
        case _:
            words = [program, f"--app-name={_TITLE}", "--", _TITLE, text]
    try:
        shown = subprocess.run(
            words,
            env={**os.environ, "ULLAGE_NOTICE_TITLE": _TITLE, "ULLAGE_NOTICE_TEXT": text},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("%s failed: %s", program, error)
        return False
    return shown.returncode == 0
