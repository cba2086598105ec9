-- The keys of the context buffer. Each key is mapped to a `<Plug>` mapping, so that users
-- can choose others. No key shadows a motion.
local M = {}

local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

-- Cells of a message in a question, enough to recognise it.
local LINE = 50

---@param view ullage.View
---@return ullage.Row?
local function row_here(view) return view.rows[vim.api.nvim_win_get_cursor(0)[1]] end

local function expand(view)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local row = view.rows[line]
  local folds = row and (row.section or row.item and row.item.kind == 'archived')
  if folds or vim.fn.foldclosed(line) ~= -1 then
    vim.cmd('silent! normal! za')
    return view:redraw()
  end
  local at = view:toggle(line)
  if at then
    vim.api.nvim_win_set_cursor(0, { at, 0 })
    require('ullage.given_back').find_left_out(view, true)
  end
end

local function undo(view)
  local item = M.item(view)
  require('ullage.undo').ask(item and item.kind == 'marker' and item.edit_id or nil)
end

---Returns a key's action on the message under the cursor. A conversation that an agent has is only read.
---@param use fun(entry: ullage.Entry)
local function on_message(use)
  return function(view)
    local entry = M.entry(view)
    if require('ullage.following').refuse() then
      return
    elseif entry then
      use(entry)
    else
      notices.say('Put the cursor on a message.')
    end
  end
end

local pin = on_message(function(entry)
  session.call('context/pin', { messageId = entry.message.id, pinned = not entry.pinned }, function()
    notices.say(entry.pinned and 'Unpinned.' or 'Pinned: it stays word for word through every compaction.')
    require('ullage.context').reload()
  end)
end)

---@param step 1|-1
local function jump(step)
  return function(view)
    local at = vim.api.nvim_win_get_cursor(0)[1] + step
    while view.rows[at] do
      local item = view.rows[at].kind == 'item' and view.rows[at].item
      if item and (item.kind == 'marker' or item.kind == 'live') then
        return vim.api.nvim_win_set_cursor(0, { at, 0 })
      end
      at = at + step
    end
  end
end

-- The most parts in the list of the biggest.
local BIGGEST = 20

local function biggest(view)
  local list = vim.tbl_filter(function(row) return row.kind == 'item' and row.item.tokens > 0 end, view.rows)
  table.sort(list, function(one, other) return one.item.tokens > other.item.tokens end)
  if #list == 0 then return notices.say('There are no messages yet.') end
  local window = vim.api.nvim_get_current_win()
  local function label(row) return ('%6s  %s'):format(row.right, vim.trim(row.text)) end
  local options = { prompt = 'The biggest parts', format_item = label }
  vim.ui.select(vim.list_slice(list, 1, BIGGEST), options, function(row)
    local at = row and view:row_of(row.item)
    if at then vim.api.nvim_win_set_cursor(window, { at, 0 }) end
  end)
end

---Asks before a key compacts: a slip of the finger must not cost a summary. The commands do not ask.
---@param params table of `context/compact`
local function confirmed(question, params)
  local choices = next(params) and { 'Compact', 'Leave it' } or { 'Compact', 'Preview', 'Leave it' }
  vim.ui.select(choices, { prompt = question }, function(choice)
    if choice == 'Compact' then
      require('ullage.compacting').request(params)
    elseif choice == 'Preview' then
      require('ullage.preview').open('')
    end
  end)
end

local function compact()
  if require('ullage.following').current() then
    -- Asks as well.
    return require('ullage.compacting').compact('')
  end
  local percent = session.figures and session.figures.percent
  confirmed('Compact now?' .. (percent and (' The context is %d %% full.'):format(percent) or ''), {})
end

---@param field 'upTo'|'from'
local function compact_stretch(what, field)
  return on_message(function(entry)
    local line = words.fit(require('ullage.context.items').line_of(entry.message), LINE)
    confirmed(('Compact %s %s “%s”?'):format(what, words.number(entry.index), line), { [field] = entry.message.id })
  end)
end

local function focus()
  vim.ui.input({ prompt = 'Compact, and keep above all: ' }, function(typed)
    if typed and vim.trim(typed) ~= '' then require('ullage.compacting').compact(typed) end
  end)
end

---Returns the row of a message, or of the call that shows it if it is a tool's result.
---@param view ullage.View
---@param index integer of the message
function M.row_of_index(view, index)
  local found
  for at, row in ipairs(view.rows) do
    local entry = row.kind == 'item' and row.item.entry
    if entry and not entry.inserted and entry.index <= index then found = at end
  end
  return found
end

---Goes to the message whose number is under the cursor, for example `#41` in a summary.
---@param view ullage.View
local function jump_to_number(view)
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  for first, number, last in vim.api.nvim_get_current_line():gmatch('()#(%d+)()') do
    local at = first <= column and column < last and M.row_of_index(view, tonumber(number) - 1)
    if at then
      vim.cmd("normal! m'")
      vim.api.nvim_win_set_cursor(0, { at, 0 })
      return vim.cmd('normal! zv')
    end
  end
  notices.say('Put the cursor on the number of a message, for example #41.')
end

---Opens the link under the cursor. Its address is not in the buffer. An address that is, is opened as everywhere.
---@param view ullage.View
local function open_link(view)
  local row, column = row_here(view), vim.api.nvim_win_get_cursor(0)[2]
  for _, span in ipairs(row and row.spans or {}) do
    if span.url and column >= span[1] and column < span[2] then return vim.ui.open(span.url) end
  end
  vim.ui.open(vim.fn.expand('<cfile>'))
end

---Copies the whole text of the message or the tool call into the register.
local function yank(view)
  local row = row_here(view)
  local item = row and row.item
  if not item or item.kind == 'archived' or item.kind == 'live' then
    return notices.say('Put the cursor on a message.')
  end
  local lines = require('ullage.context.items').details(item)
  vim.fn.setreg(vim.v.register, lines, 'l')
  notices.say(('%s copied.'):format(words.count(#lines, 'line')))
end

local function reload()
  session.refresh()
  require('ullage.context').reload()
end

---Returns the keys with what each does. Of an agent's conversation, which is only read, those are left out that would be
---refused.
---@return { [1]: string, [2]: string }[]
function M.offered()
  local following = require('ullage.following')
  local is_read_only, row = following.owner() ~= nil, following.current()
  local command = row and row.compact_command ~= '' and row.compact_command
  local offered = {}
  for _, key in ipairs(M.KEYS) do
    local text = key[3]
    if is_read_only and key.edits then
      text = key.by_agent and command and (key.by_agent ~= 'focus' or row.takes_focus) and key[3] .. ', by ' .. command
    end
    offered[#offered + 1] = text and { key[1], text } or nil
  end
  return offered
end

local function help() require('ullage.context.help').show(M.offered()) end

---@class ullage.Key a key, its mapping, what it does, and how
---@field [1] string
---@field [2] string
---@field [3] string
---@field [4]? fun(view: ullage.View) without it `<Plug>(ullage-MAPPING)` is a command's, which exists everywhere
---@field edits? boolean it changes the conversation, which cannot be done if an agent has it
---@field by_agent? 'any'|'focus' the agent's own command does the same; `focus`: if it takes words about what to keep

---@type ullage.Key[]
M.KEYS = {
  { '<CR>', 'toggle', 'open or close what is under the cursor', expand },
  {
    'x',
    'cancel',
    'stop the compaction that runs',
    function() require('ullage.compacting').cancel() end,
    edits = true,
  },
  { 'cc', 'compact-asked', 'compact now', compact, edits = true, by_agent = 'any' },
  { 'cw', 'compact-focus', 'compact, with words about what to keep', focus, edits = true, by_agent = 'focus' },
  {
    'ct',
    'upto-asked',
    'compact everything up to the message',
    compact_stretch('everything up to', 'upTo'),
    edits = true,
  },
  { 'cf', 'from-asked', 'compact from the message on', compact_stretch('everything from', 'from'), edits = true },
  { 'cp', 'preview', 'preview a compaction', edits = true },
  { 'u', 'undo-here', 'undo the compaction under the cursor, or the last edit', undo, edits = true },
  { 'p', 'pin', 'pin or unpin the message', pin, edits = true },
  { 'gy', 'yank', 'copy the message', yank },
  { 'gx', 'open-link', 'open the link', open_link },
  { 'gl', 'lost', 'list what the compaction left out' },
  { 'gb', 'biggest', 'list the biggest parts', biggest },
  { ']]', 'next-marker', 'next marker', jump(1) },
  { '[[', 'previous-marker', 'previous marker', jump(-1) },
  { '<C-]>', 'jump-to-number', 'go to the message whose number (#41) is under the cursor', jump_to_number },
  { 'R', 'reload', 'load again', reload },
  { 'q', 'close', 'close', function() require('ullage.context').close() end },
  { 'g?', 'help', 'show these keys', help },
}

---Defines the mappings in the buffer, and the default keys unless the option `context.keys` is false.
---@param view ullage.View
function M.set(view)
  local has_keys = require('ullage.config').get().context.keys
  for _, key in ipairs(M.KEYS) do
    local plug, action = ('<Plug>(ullage-%s)'):format(key[2]), key[4]
    if action then
      vim.keymap.set('n', plug, function() action(view) end, { buffer = view.buffer, desc = 'Ullage: ' .. key[2] })
    end
    if has_keys then
      -- Keys of one letter do not wait for a longer mapping of the user's.
      local options = { buffer = view.buffer, remap = true, nowait = #key[1] == 1, desc = 'Ullage: ' .. key[3] }
      vim.keymap.set('n', key[1], plug, options)
    end
  end
end

---@param view ullage.View
---@return ullage.Item?
function M.item(view)
  local row = row_here(view)
  return row and session.active and row.item or nil
end

---@param view ullage.View
---@return ullage.Entry?
function M.entry(view)
  local item = M.item(view)
  return item and item.entry or nil
end

return M
