-- Shows a running compaction as language-server progress, so that fidget, `vim.lsp.status()` and 0.12's own bar show
-- it.
local client = require('ullage.client')
local events = require('ullage.events')
local words = require('ullage.words')

local M = {}

---Calls Neovim's own handler, which keeps the client's ring and fires |LspProgress|.
local function send(token, value)
  local ours = client.get()
  if ours then
    local context = { client_id = ours.id, method = '$/progress' }
    vim.lsp.handlers['$/progress'](nil, { token = 'ullage ' .. token, value = value }, context)
  end
end

local ENDS = { completed = 'done', failed = 'failed', cancelled = 'cancelled' }

function M.setup()
  events.on('compaction', function(what, running)
    if not running then
      return
    elseif what == 'in_progress' then
      local message = words.count(running.messages, 'message')
      send(running.id, { kind = 'begin', title = 'Compacting', message = message, cancellable = true })
    elseif what == 'chunk' then
      send(running.id, { kind = 'report', message = words.grouped(#running.text) .. ' characters of summary' })
    else
      send(running.id, { kind = 'end', message = ENDS[what] })
    end
  end)
end

return M
