---@meta

---The options of `setup()` or `vim.g.ullage`. Every option may be left out.
---@class ullage.Options
---@field cmd? string[] the server's whole command; default `$ULLAGE_SERVER`, then `ullage` on PATH
---@field store? string the file or the PostgreSQL database (`postgresql://HOST/DATABASE`) in which sessions are kept; default: the server's own
---@field resume? boolean open the folder's last session when the server starts
---@field follow? boolean follow the conversations of this machine's coding agents; default: as answered in `:Ullage agents`
---@field settings? ullage.Settings the server's settings, see |ullage-settings|
---@field context? ullage.Options.Context
---@field statusline? ullage.Options.Statusline
---@field notices? ullage.Options.Notices
---@field recovery? ullage.Options.Recovery

---@class ullage.Options.Context
---@field open? 'vsplit'|'split'|'tab'|'current' where `:Ullage context` and `:Ullage preview` open
---@field keys? boolean map the default keys in the conversation's buffer

---@class ullage.Options.Statusline
---@field done_seconds? number how long `✓ 164K → 31K` stays
---@field start? boolean start the server when the statusline is first drawn
---@field quiet? boolean show an agent's conversation only when two calls or fewer may be left until its compaction

---@class ullage.Options.Notices
---@field level? 'info'|'warning'|'error'|'off' the lowest level that is shown

---@class ullage.Options.Recovery
---@field attempts? integer crashes within `seconds` after which the server is not restarted
---@field seconds? number

---The plugin's options with every field set, except `cmd`, `store` and `follow`.
---@class ullage.Config
---@field cmd? string[]
---@field store? string
---@field resume boolean
---@field follow? boolean
---@field settings ullage.Settings
---@field context { open: 'vsplit'|'split'|'tab'|'current', keys: boolean }
---@field statusline { done_seconds: number, start: boolean, quiet: boolean }
---@field notices { level: 'info'|'warning'|'error'|'off' }
---@field recovery { attempts: integer, seconds: number }
