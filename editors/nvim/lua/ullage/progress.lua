-- Shows a running compaction as language-server progress, so that fidget, `vim.lsp.status()` and 0.12's own bar show
-- it.
local client = require('ullage.client')
local events = require('ullage.events')
local words = require('ullage.words')

local M = {}

local ENDS = { completed = 'done', failed = 'failed', cancelled = 'cancelled' }

function M.setup()
  events.on('compaction', function(what, running)
    local ours = client.get()
    if not running or not ours then return end
    local value = { kind = 'end', message = ENDS[what] }
    if what == 'in_progress' then
      local message = words.count(running.messages, 'message')
      value = { kind = 'begin', title = 'Compacting', message = message, cancellable = true }
    elseif what == 'chunk' then
      value = { kind = 'report', message = words.grouped(#running.text) .. ' characters of summary' }
    end
    -- Neovim's own handler keeps the client's ring and fires |LspProgress|.
    local context = { client_id = ours.id, method = '$/progress' }
    vim.lsp.handlers['$/progress'](nil, { token = 'ullage ' .. running.id, value = value }, context)
  end)
end

return M
