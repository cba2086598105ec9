-- `:Ullage preview`: what a compaction would do. Its summary can be edited; `:w` accepts, `q` discards.
local items = require('ullage.context.items')
local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

local NAME = 'ullage://preview'
local TOP = '── Summary: edit it below ── :w accepts ── q discards ──'
local BOTTOM = '── end of the summary ──'
local namespace = vim.api.nvim_create_namespace('ullage.preview')
local signs = vim.api.nvim_create_namespace('ullage.preview.signs')

---@class ullage.Preview
---@field buffer integer
---@field session_id string
---@field result table `CompactResult` of the protocol
---@field top integer extmark before the summary
---@field bottom integer extmark after the summary
---@field goes integer extmark on the first line of the messages to archive

---@param entries ullage.Entry[]
local function list(title, entries, tokens)
  local lines = { ('%s · %s, %s tokens'):format(title, words.count(#entries, 'message'), words.short(tokens)), '' }
  for _, entry in ipairs(entries) do
    local pin = entry.pinned and '● ' or '  '
    lines[#lines + 1] = ('%s%6s  %s'):format(pin, words.short(entry.tokens), items.line_of(entry.message))
  end
  return lines
end

local function sum(entries)
  local tokens = 0
  for _, entry in ipairs(entries) do
    tokens = tokens + entry.tokens
  end
  return tokens
end

---@param result table
---@param context ullage.Entry[]
local function stays(result, context)
  local going = {}
  for _, entry in ipairs(result.archived) do
    going[entry.message.id] = true
  end
  return vim.tbl_filter(function(entry)
    return not going[entry.message.id]
  end, context)
end

---@param preview ullage.Preview
---@return integer top 0-based line of the border before the summary
---@return integer bottom 0-based line of the border after the summary
local function borders(preview)
  local function line(id)
    return vim.api.nvim_buf_get_extmark_by_id(preview.buffer, namespace, id, {})[1]
  end
  return line(preview.top), line(preview.bottom)
end

---@param preview ullage.Preview
---@return string
local function summary(preview)
  local top, bottom = borders(preview)
  return table.concat(vim.api.nvim_buf_get_lines(preview.buffer, top + 1, bottom, false), '\n')
end

-- Bytes of text per token, until the server has counted the text.
local BYTES_A_TOKEN = 4

---Returns `164K → 31K`. The second figure is an estimate if the summary differs from the counted one.
---@param preview ullage.Preview
---@return string text
---@return string group
local function sizes(preview)
  local before, after = preview.result.contextSizeBefore, preview.result.contextSizeAfter
  local change = #summary(preview) - #preview.result.summary
  if change == 0 then
    return words.shrinking(before, after), 'UllageDone'
  end
  after = math.max(0, after + math.floor(change / BYTES_A_TOKEN))
  local text = ('%s → ≈%s'):format(words.short(before), words.short(after))
  if after >= before then
    return text .. '  the summary is larger than what it replaces', 'UllageCritical'
  end
  return text .. '  edited', 'UllageDone'
end

---@param preview ullage.Preview
local function show_sizes(preview)
  local text, group = sizes(preview)
  local bar = (' %%#%s#%s%%*  %%#UllageMuted#%d messages go%%*'):format(group, text, #preview.result.archived)
  for _, window in ipairs(vim.fn.win_findbuf(preview.buffer)) do
    vim.wo[window].winbar = bar
  end
end

---Marks added and removed lines as a diff does.
---@param preview ullage.Preview
local function show_signs(preview)
  local function mark(first, last, sign, group)
    for line = first, last do
      vim.api.nvim_buf_set_extmark(preview.buffer, signs, line, 0, { sign_text = sign, sign_hl_group = group })
    end
  end
  vim.api.nvim_buf_clear_namespace(preview.buffer, signs, 0, -1)
  local top, bottom = borders(preview)
  mark(top + 1, bottom - 1, '+', 'Added')
  local goes = vim.api.nvim_buf_get_extmark_by_id(preview.buffer, namespace, preview.goes, {})[1]
  mark(goes, goes + #preview.result.archived - 1, '-', 'Removed')
end

---Allows typing only in the summary.
---@param preview ullage.Preview
local function guard(preview)
  local top, bottom = borders(preview)
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  vim.bo[preview.buffer].modifiable = line > top and line < bottom
end

---@param preview ullage.Preview
local function accept(preview)
  local text = summary(preview)
  local params = { sessionId = preview.session_id, previewId = preview.result.previewId }
  if text ~= preview.result.summary then
    params.summary = text
  end
  -- The compaction's own notice shows the result.
  require('ullage.client').request('context/commit', params, function(error)
    if not notices.failed(error) then
      vim.bo[preview.buffer].modified = false
      vim.api.nvim_buf_delete(preview.buffer, { force = true })
    end
  end)
end

---@param preview ullage.Preview
local function discard(preview)
  vim.api.nvim_buf_delete(preview.buffer, { force = true })
  notices.say('Discarded. The context is as it was.')
end

---@param preview ullage.Preview
local function colour(preview, heads)
  local function whole(line, group)
    return vim.api.nvim_buf_set_extmark(preview.buffer, namespace, line, 0, { line_hl_group = group })
  end
  whole(heads.stays, 'UllageTitle')
  whole(heads.goes, 'UllageTitle')
  preview.top, preview.bottom = whole(heads.top, 'UllageMarker'), whole(heads.bottom, 'UllageMarker')
  local last = vim.api.nvim_buf_line_count(preview.buffer)
  preview.goes = vim.api.nvim_buf_set_extmark(
    preview.buffer,
    namespace,
    heads.goes + 2,
    0,
    { end_row = last, hl_group = 'UllageArchived' }
  )
end

---@param preview ullage.Preview
---@param context ullage.Entry[]
local function fill(preview, context)
  local staying = stays(preview.result, context)
  local lines = list('Stays', staying, sum(staying))
  local heads = { stays = 0, top = #lines + 1 }
  vim.list_extend(lines, { '', TOP })
  vim.list_extend(lines, vim.split(preview.result.summary, '\n', { plain = true }))
  heads.bottom = #lines
  vim.list_extend(lines, { BOTTOM, '' })
  heads.goes = #lines
  vim.list_extend(lines, list('Goes', preview.result.archived, sum(preview.result.archived)))
  vim.api.nvim_buf_set_lines(preview.buffer, 0, -1, false, lines)
  colour(preview, heads)
  return heads
end

---@param preview ullage.Preview
local function listen(preview)
  local function on(event, run)
    vim.api.nvim_create_autocmd(event, {
      buffer = preview.buffer,
      callback = function()
        run(preview)
      end,
    })
  end
  on('BufWriteCmd', accept)
  on({ 'CursorMoved', 'CursorMovedI' }, guard)
  on({ 'TextChanged', 'TextChangedI' }, show_sizes)
  on({ 'TextChanged', 'TextChangedI' }, show_signs)
  vim.keymap.set('n', 'q', function()
    discard(preview)
  end, { buffer = preview.buffer, nowait = true, desc = 'Ullage: discard the preview' })
end

---@param session_id string
---@param result table
---@param context ullage.Entry[]
local function show(session_id, result, context)
  local old = vim.fn.bufnr('^' .. NAME .. '$')
  if old ~= -1 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(true, false)
  require('ullage.window').show(buffer)
  vim.api.nvim_buf_set_name(buffer, NAME)
  local preview = { buffer = buffer, session_id = session_id, result = result }
  local heads = fill(preview, context)
  for name, value in pairs({
    buftype = 'acwrite',
    bufhidden = 'wipe',
    swapfile = false,
    modified = false,
    filetype = 'markdown',
  }) do
    vim.bo[buffer][name] = value
  end
  vim.wo.wrap, vim.wo.linebreak, vim.wo.breakindent, vim.wo.spell = true, true, true, false
  listen(preview)
  vim.api.nvim_win_set_cursor(0, { heads.top + 2, 0 })
  -- The border before the summary says what the keys do.
  vim.fn.winrestview({ topline = heads.top + 1 })
  show_sizes(preview)
  show_signs(preview)
end

---Requests a preview and opens it. The session stays the same if another one becomes active meanwhile.
---@param focus string
function M.open(focus)
  session.settled(function()
    if not session.active then
      notices.failed(session.lacking())
      return
    end
    local id = session.active.id
    session.request('context/compact', { sessionId = id, dryRun = true, focus = focus }, function(error, result)
      if notices.failed(error) then
        return
      end
      session.request('context/messages', { sessionId = id }, function(failure, context)
        if not notices.failed(failure) then
          show(id, result, context.entries)
        end
      end)
    end)
  end)
end

return M
