-- The keys of the context buffer, and the window that lists them.
local M = {}

local session = require('ullage.session')

---@param view ullage.View
---@return ullage.Row?
local function row_here(view)
  return view.rows[vim.api.nvim_win_get_cursor(0)[1]]
end

local function expand(view)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local row = view.rows[line]
  if row and row.item and row.item.kind == 'archived' or vim.fn.foldclosed(line) ~= -1 then
    vim.cmd('silent! normal! za')
    view:redraw()
    return
  end
  local at = view:toggle(line)
  if at then
    vim.api.nvim_win_set_cursor(0, { at, 0 })
  end
end

local function undo(view)
  local row = row_here(view)
  local item = row and row.item
  if item and item.kind == 'marker' and item.edit_id then
    require('ullage.undo').ask(item.edit_id, item.block.messages_archived)
  else
    require('ullage.undo').ask()
  end
end

---@param view ullage.View
---@param step 1|-1
local function jump(view, step)
  local at = vim.api.nvim_win_get_cursor(0)[1] + step
  while view.rows[at] do
    local item = view.rows[at].kind == 'item' and view.rows[at].item
    if item and (item.kind == 'marker' or item.kind == 'live') then
      vim.api.nvim_win_set_cursor(0, { at, 0 })
      return
    end
    at = at + step
  end
end

-- The most parts in the list of the biggest.
local BIGGEST = 20

local function biggest(view)
  local list = {}
  for _, row in ipairs(view.rows) do
    if row.kind == 'item' and row.item.tokens > 0 then
      list[#list + 1] = row
    end
  end
  table.sort(list, function(one, other)
    return one.item.tokens > other.item.tokens
  end)
  local window = vim.api.nvim_get_current_win()
  local options = {
    prompt = 'The biggest parts',
    format_item = function(row)
      return ('%6s  %s'):format(row.right, vim.trim(row.text))
    end,
  }
  vim.ui.select(vim.list_slice(list, 1, BIGGEST), options, function(row)
    local at = row and view:row_of(row.item)
    if at then
      vim.api.nvim_win_set_cursor(window, { at, 0 })
    end
  end)
end

local function command(words)
  return function()
    vim.cmd('Ullage ' .. words)
  end
end

local function focus()
  vim.ui.input({ prompt = 'Compact, and keep above all: ' }, function(words)
    if words then
      vim.cmd('Ullage compact ' .. words)
    end
  end)
end

local function stop()
  vim.cmd(#require('ullage.chat').prompts > 0 and 'Ullage stop' or 'Ullage cancel')
end

---@type { [1]: string, [2]: string, [3]: fun(view: ullage.View) }[]
local KEYS = {
  { '<CR>', 'open or close what is under the cursor', expand },
  { 'u', 'undo the compaction under the cursor, or the last edit', undo },
  { 'p', 'pin or unpin the message', command('pin') },
  { 'c', 'compact now', command('compact') },
  { 'C', 'compact, with a focus', focus },
  { 't', 'compact everything up to the message', command('upto') },
  { 'f', 'compact from the message on', command('from') },
  { 'P', 'preview a compaction', command('preview') },
  { 'a', 'ask the model', command('ask') },
  { 'x', 'stop the answer, or the compaction, that runs', stop },
  { 'b', 'list the biggest parts', biggest },
  {
    ']]',
    'next marker',
    function(view)
      jump(view, 1)
    end,
  },
  {
    '[[',
    'previous marker',
    function(view)
      jump(view, -1)
    end,
  },
  {
    'R',
    'load again',
    function()
      require('ullage.context').reload()
    end,
  },
  {
    'q',
    'close',
    function()
      require('ullage.context').close()
    end,
  },
}

local function help()
  local lines = {}
  for number, key in ipairs(KEYS) do
    lines[number] = (' %-5s %s '):format(key[1], key[2])
  end
  lines[#lines + 1] = ' za zR zM  archived messages: one stretch, all, none '
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, 'wipe'
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - #lines) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width,
    height = #lines,
    style = 'minimal',
    border = 'rounded',
    title = ' Ullage ',
  })
  for _, key in ipairs({ 'q', '?', '<Esc>', '<CR>' }) do
    vim.keymap.set('n', key, function()
      vim.api.nvim_win_close(window, true)
    end, { buffer = buffer, nowait = true })
  end
end

---@param view ullage.View
function M.set(view)
  for _, key in ipairs(KEYS) do
    vim.keymap.set('n', key[1], function()
      key[3](view)
    end, { buffer = view.buffer, nowait = true, desc = 'Ullage: ' .. key[2] })
  end
  vim.keymap.set('n', '?', help, { buffer = view.buffer, nowait = true, desc = 'Ullage: help' })
end

---@param view ullage.View
---@return ullage.Entry?
function M.entry(view)
  local row = row_here(view)
  return row and row.item and session.active and row.item.entry or nil
end

return M
