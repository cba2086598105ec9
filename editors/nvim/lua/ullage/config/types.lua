---@meta

---The options of `setup()` or `vim.g.ullage`. Every option may be left out.
---@class ullage.Options
---@field cmd? string[] the server's whole command; default `$ULLAGE_SERVER`, then `ullage` on PATH
---@field store? string the file in which sessions are kept; default: the server's own
---@field resume? boolean open the folder's last session when the server starts
---@field settings? ullage.Settings the server's settings, see |ullage-settings|
---@field context? ullage.Options.Context
---@field statusline? ullage.Options.Statusline
---@field notices? ullage.Options.Notices
---@field recovery? ullage.Options.Recovery

---@class ullage.Options.Context
---@field open? 'vsplit'|'split'|'tab'|'current' where `:Ullage context` and `:Ullage preview` open

---@class ullage.Options.Statusline
---@field done_seconds? number how long `✓ 164K → 31K` stays

---@class ullage.Options.Notices
---@field level? 'info'|'warning'|'error'|'off' the lowest level that is shown
---@field choices? 'command'|'prompt' wait for `:Ullage choose`, or ask at once

---@class ullage.Options.Recovery
---@field attempts? integer crashes within `seconds` after which the server is not restarted
---@field seconds? number

---The plugin's options with every field set, except `cmd` and `store`.
---@class ullage.Config
---@field cmd? string[]
---@field store? string
---@field resume boolean
---@field settings ullage.Settings
---@field context { open: 'vsplit'|'split'|'tab'|'current' }
---@field statusline { done_seconds: number }
---@field notices { level: 'info'|'warning'|'error'|'off', choices: 'command'|'prompt' }
---@field recovery { attempts: integer, seconds: number }
