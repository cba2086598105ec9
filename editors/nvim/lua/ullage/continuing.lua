-- A conversation that goes on in a new session of its agent, or of another one: the choice, the preview, the command that
-- resumes it. The session of before stays as it is.
local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

---Runs a command in a |terminal| and lets the user type there. It gets a tab page: agents need a wide screen.
local function run_in_terminal(command, cwd)
  vim.cmd('tab split')
  vim.api.nvim_win_set_buf(0, vim.api.nvim_create_buf(true, false))
  vim.fn.jobstart(command, { term = true, cwd = cwd })
  vim.cmd.startinsert()
end

---@class ullage.Continuing a way to continue
---@field label string
---@field params table of `continuing/preview`, without the session
---@field chooses? boolean the user chooses the message next

---Returns the ways in which a conversation can be continued.
---@param choices ullage.ContinuingChoicesResult
---@param focus string what the summary of a compaction must keep
---@param entry? ullage.Entry the message under the cursor
---@return ullage.Continuing[]
function M.ways(choices, focus, entry)
  local list = {}
  for _, choice in ipairs(choices.agents) do
    local function add(label, params, chooses)
      local given = vim.tbl_extend('error', { agent = choice.word }, params)
      list[#list + 1] = { label = ('%s: %s'):format(choice.agent, label), params = given, chooses = chooses }
    end
    if choice.own then
      add('compacted by Ullage', { focus = focus })
      if choices.beforeCompaction then add('as it was before its compaction', { beforeCompaction = true }) end
      if entry then
        add(('as it was after message %s'):format(words.number(entry.index)), { messageId = entry.message.id })
      end
      add('as it was after a message…', {}, true)
    else
      add('the whole context', { compacted = false })
      add('compacted by Ullage', { compacted = true, focus = focus })
    end
  end
  return list
end

---Returns `31K of 200K (16 %), 92K before, compacts at 167K`, as far as it is known.
---@param planned ullage.ContinuingResult
local function figure(planned)
  local of = planned.size
    and (' of %s (%d %%)'):format(words.short(planned.size), words.percent(planned.used, planned.size))
  local parts = { words.short(planned.used) .. (of or '') }
  parts[#parts + 1] = planned.before and words.short(planned.before) .. ' before'
  parts[#parts + 1] = planned.compactsAt and 'compacts at ' .. words.short(planned.compactsAt)
  return table.concat(parts, ', ')
end

---Returns what a new session will be, as Markdown.
---@param planned ullage.ContinuingResult
function M.lines(planned)
  local list = {
    ('# A new session of %s'):format(planned.agent),
    '',
    figure(planned),
    ('%s, %s left out'):format(words.count(planned.messages, 'message'), words.grouped(planned.leftOut)),
  }
  vim.list_extend(list, planned.notes)
  return vim.list_extend(list, {
    '',
    'File:    ' .. vim.fn.fnamemodify(planned.path, ':~'),
    'Folder:  ' .. vim.fn.fnamemodify(planned.cwd, ':~'),
    'Command: ' .. table.concat(planned.command, ' '),
    '',
    'The conversation of before stays as it is.',
  })
end

---Runs the command that resumes a session, in a terminal. If it cannot be run here, it is copied.
---@param written ullage.ContinuingResult
local function resume(written)
  local is_here = vim.fn.executable(written.command[1]) == 1 and vim.fn.isdirectory(written.cwd) == 1
  if is_here then return run_in_terminal(written.command, written.cwd) end
  local where = notices.copy(written.shell)
  notices.say(('Written. %s cannot be run here; copied %s%s.'):format(written.agent, written.shell, where))
end

---@param planned ullage.ContinuingResult
local function propose(planned)
  local function accept(close)
    session.call('continuing/write', { previewId = planned.previewId }, function(written)
      close()
      resume(written)
    end)
  end
  require('ullage.proposal').show({
    name = 'continue',
    keys = 'writes and resumes it',
    lines = M.lines(planned),
    filetype = 'markdown',
    accept = accept,
  })
end

---Shows what a way would be, and does it if the user accepts.
---@param params table of `continuing/preview`
local function preview(params)
  local ends
  local cancel = session.request('continuing/preview', params, function(failure, planned)
    if ends then ends() end
    if failure and failure.kind == 'Cancelled' then
      notices.say('Cancelled. No session was written.')
    elseif not notices.failed(failure) then
      propose(planned)
    end
  end)
  ends = require('ullage.waiting').begin('Preparing the new session… (:Ullage undo stops it)', cancel)
end

---Lets the user choose how to continue the active session, shows what that would be, and does it if the user accepts.
---@param focus string what the summary of a compaction must keep
---@param entry? ullage.Entry the message under the cursor
function M.offer(focus, entry)
  session.call('continuing/choices', {}, function(choices)
    local ways = M.ways(choices, focus, entry)
    if #ways == 0 then
      return notices.say(
        'No agent in which this conversation could be continued is on this machine. Start one of them once.'
      )
    end
    local options = {
      prompt = 'Continue in a new session',
      format_item = function(way) return way.label end,
    }
    -- The active session may be another one by the time that the user has chosen.
    local id = session.active.id
    vim.ui.select(ways, options, function(way)
      if not way then return end
      local params = vim.tbl_extend('error', way.params, { sessionId = id })
      if way.chooses then
        vim.schedule(function()
          require('ullage.context.pick').any(
            id,
            'Continue as it was after this message',
            function(message_id) preview(vim.tbl_extend('error', params, { messageId = message_id })) end
          )
        end)
      else
        preview(params)
      end
    end)
  end)
end

return M
