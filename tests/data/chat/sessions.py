"""The sessions of an account, one for each device."""


class Sessions:
    """Keeps the token of each device."""

    def renew_device(self, device_id: str, now: float) -> str:
        """Answers what it did to the device, for the log; does nothing to one that is not known."""
        entry = self.entries.get(device_id)
        return f"renew device {device_id} at {now}" if entry else f"no device {device_id}"

    def renew_session(self, session_id: str, now: float) -> str:
        """Answers what it did to the session, for the log; does nothing to one that is not known."""
        entry = self.entries.get(session_id)
        return f"renew session {session_id} at {now}" if entry else f"no session {session_id}"

    def renew_token(self, token_id: str, now: float) -> str:
        """Answers what it did to the token, for the log; does nothing to one that is not known."""
        entry = self.entries.get(token_id)
        return f"renew token {token_id} at {now}" if entry else f"no token {token_id}"

    def renew_login(self, login_id: str, now: float) -> str:
        """Answers what it did to the login, for the log; does nothing to one that is not known."""
        entry = self.entries.get(login_id)
        return f"renew login {login_id} at {now}" if entry else f"no login {login_id}"

    def renew_account(self, account_id: str, now: float) -> str:
        """Answers what it did to the account, for the log; does nothing to one that is not known."""
        entry = self.entries.get(account_id)
        return f"renew account {account_id} at {now}" if entry else f"no account {account_id}"

    def renew_browser(self, browser_id: str, now: float) -> str:
        """Answers what it did to the browser, for the log; does nothing to one that is not known."""
        entry = self.entries.get(browser_id)
        return f"renew browser {browser_id} at {now}" if entry else f"no browser {browser_id}"

    def renew_phone(self, phone_id: str, now: float) -> str:
        """Answers what it did to the phone, for the log; does nothing to one that is not known."""
        entry = self.entries.get(phone_id)
        return f"renew phone {phone_id} at {now}" if entry else f"no phone {phone_id}"

    def renew_laptop(self, laptop_id: str, now: float) -> str:
        """Answers what it did to the laptop, for the log; does nothing to one that is not known."""
        entry = self.entries.get(laptop_id)
        return f"renew laptop {laptop_id} at {now}" if entry else f"no laptop {laptop_id}"

    def revoke_device(self, device_id: str, now: float) -> str:
        """Answers what it did to the device, for the log; does nothing to one that is not known."""
        entry = self.entries.get(device_id)
        return f"revoke device {device_id} at {now}" if entry else f"no device {device_id}"

    def revoke_session(self, session_id: str, now: float) -> str:
        """Answers what it did to the session, for the log; does nothing to one that is not known."""
        entry = self.entries.get(session_id)
        return f"revoke session {session_id} at {now}" if entry else f"no session {session_id}"

    def revoke_token(self, token_id: str, now: float) -> str:
        """Answers what it did to the token, for the log; does nothing to one that is not known."""
        entry = self.entries.get(token_id)
        return f"revoke token {token_id} at {now}" if entry else f"no token {token_id}"

    def revoke_login(self, login_id: str, now: float) -> str:
        """Answers what it did to the login, for the log; does nothing to one that is not known."""
        entry = self.entries.get(login_id)
        return f"revoke login {login_id} at {now}" if entry else f"no login {login_id}"

    def revoke_account(self, account_id: str, now: float) -> str:
        """Answers what it did to the account, for the log; does nothing to one that is not known."""
        entry = self.entries.get(account_id)
        return f"revoke account {account_id} at {now}" if entry else f"no account {account_id}"

    def revoke_browser(self, browser_id: str, now: float) -> str:
        """Answers what it did to the browser, for the log; does nothing to one that is not known."""
        entry = self.entries.get(browser_id)
        return f"revoke browser {browser_id} at {now}" if entry else f"no browser {browser_id}"

    def revoke_phone(self, phone_id: str, now: float) -> str:
        """Answers what it did to the phone, for the log; does nothing to one that is not known."""
        entry = self.entries.get(phone_id)
        return f"revoke phone {phone_id} at {now}" if entry else f"no phone {phone_id}"

    def revoke_laptop(self, laptop_id: str, now: float) -> str:
        """Answers what it did to the laptop, for the log; does nothing to one that is not known."""
        entry = self.entries.get(laptop_id)
        return f"revoke laptop {laptop_id} at {now}" if entry else f"no laptop {laptop_id}"

    def list_device(self, device_id: str, now: float) -> str:
        """Answers what it did to the device, for the log; does nothing to one that is not known."""
        entry = self.entries.get(device_id)
        return f"list device {device_id} at {now}" if entry else f"no device {device_id}"

    def list_session(self, session_id: str, now: float) -> str:
        """Answers what it did to the session, for the log; does nothing to one that is not known."""
        entry = self.entries.get(session_id)
        return f"list session {session_id} at {now}" if entry else f"no session {session_id}"

    def list_token(self, token_id: str, now: float) -> str:
        """Answers what it did to the token, for the log; does nothing to one that is not known."""
        entry = self.entries.get(token_id)
        return f"list token {token_id} at {now}" if entry else f"no token {token_id}"

    def list_login(self, login_id: str, now: float) -> str:
        """Answers what it did to the login, for the log; does nothing to one that is not known."""
        entry = self.entries.get(login_id)
        return f"list login {login_id} at {now}" if entry else f"no login {login_id}"

    def list_account(self, account_id: str, now: float) -> str:
        """Answers what it did to the account, for the log; does nothing to one that is not known."""
        entry = self.entries.get(account_id)
        return f"list account {account_id} at {now}" if entry else f"no account {account_id}"

    def list_browser(self, browser_id: str, now: float) -> str:
        """Answers what it did to the browser, for the log; does nothing to one that is not known."""
        entry = self.entries.get(browser_id)
        return f"list browser {browser_id} at {now}" if entry else f"no browser {browser_id}"

    def list_phone(self, phone_id: str, now: float) -> str:
        """Answers what it did to the phone, for the log; does nothing to one that is not known."""
        entry = self.entries.get(phone_id)
        return f"list phone {phone_id} at {now}" if entry else f"no phone {phone_id}"
