-- `:Ullage context`: the active conversation in a buffer, live.
local draw = require('ullage.context.draw')
local events = require('ullage.events')
local keys = require('ullage.context.keys')
local loaders = require('ullage.context.loader')
local session = require('ullage.session')
local views = require('ullage.context.view')
local windows = require('ullage.window')
local words = require('ullage.words')

local M = {}

local NAME = 'ullage://context'

---@type ullage.View?
local view
---@type ullage.Loader?
local loader
---@type integer? a window that is to show the next compaction from its beginning
local watcher
---@type string? the session whose messages were opened in place
local shown_id

local function shown_in()
  return view and vim.api.nvim_buf_is_valid(view.buffer) and vim.fn.win_findbuf(view.buffer) or {}
end

local function is_shown() return #shown_in() > 0 end

---Loads the conversation again, if the buffer is shown.
function M.reload(done)
  if is_shown() then loader:reload(done) end
end

local function on_compaction(what, running, ...)
  if not is_shown() then
    return
  elseif what == 'in_progress' then
    local at = view:begin_live(running)
    if watcher and vim.api.nvim_win_is_valid(watcher) then
      vim.api.nvim_win_set_cursor(watcher, { at, 0 })
      vim.api.nvim_win_call(watcher, function() vim.cmd('normal! zz') end)
    end
    watcher = nil
  elseif what == 'chunk' then
    view:write_live((...))
  else
    loader.ended = what == 'completed' and running and { number = running.number, readers = view:live_readers() } or nil
    loader:reload()
  end
end

local function listen()
  events.on('usage', function(figures)
    if is_shown() then
      view:show_head(session.active, figures)
      loader:follow(figures)
      -- Only the figures say whose conversation it is.
      require('ullage.given_back').find_left_out(view)
    end
  end)
  events.on('session', function(active)
    -- A session that got a title, or was opened again after a crash, is the same one.
    local id = active and active.id
    if view and id ~= shown_id then view.open = {} end
    shown_id = id
    M.reload()
  end)
  vim.api.nvim_create_autocmd({ 'WinResized', 'VimResized', 'BufWinEnter', 'WinClosed' }, {
    group = vim.api.nvim_create_augroup('ullage.context', {}),
    -- The lines of windows that have another width are broken again.
    callback = vim.schedule_wrap(function()
      if is_shown() and view:measure() then loader:show() end
    end),
  })
  events.on('edited', function() M.reload() end)
  events.on('compaction', on_compaction)
end

local function set_options(buffer)
  local options = { buftype = 'nofile', bufhidden = 'hide', swapfile = false, modifiable = false, undolevels = -1 }
  for name, value in pairs(options) do
    vim.bo[buffer][name] = value
  end
  vim.bo[buffer].filetype = 'ullage'
end

local WINDOW = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  conceallevel = 2,
  concealcursor = 'nc',
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  list = false,
  spell = false,
  cursorline = true,
  foldmethod = 'expr',
  foldexpr = "v:lua.require'ullage.context.view'.fold_level()",
  foldtext = '',
  foldlevel = 0,
  foldenable = true,
  fillchars = 'fold: ',
}

local function make()
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_name(buffer, NAME)
  set_options(buffer)
  view = views.new(buffer)
  loader = loaders.new(view)
  keys.set(view)
  -- Also a window that a quickfix list or `:buffer` shows it in.
  vim.api.nvim_create_autocmd('BufWinEnter', {
    buffer = buffer,
    callback = function() windows.dress(0, WINDOW) end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    callback = function()
      views.by_buffer[buffer] = nil
      view, loader = nil, nil
    end,
  })
end

local heard = false

---Opens the buffer, or goes to it if it is shown.
---@param done? fun() called once the conversation is shown
function M.open(done)
  if not heard then
    heard = true
    shown_id = session.active and session.active.id
    draw.setup()
    listen()
  end
  if not view then make() end
  local window = shown_in()[1]
  if window then
    vim.api.nvim_set_current_win(window)
  else
    windows.show(view.buffer)
  end
  loader:reload(done)
end

function M.close()
  if #vim.api.nvim_tabpage_list_wins(0) > 1 then
    vim.cmd.close()
  else
    vim.cmd.bprevious()
  end
end

---Shows the next compaction from its beginning in the current window, if that window shows the conversation.
function M.watch() watcher = M.is_current() and vim.api.nvim_get_current_win() or nil end

---Whether the current window shows the conversation.
function M.is_current() return view ~= nil and vim.api.nvim_get_current_buf() == view.buffer end

---Opens the buffer, and goes to a message.
---@param index integer of the message
function M.go_to(index)
  local function go()
    local at = view and keys.row_of_index(view, index)
    local window = shown_in()[1]
    if at and window then
      vim.api.nvim_win_set_cursor(window, { at, 0 })
      vim.cmd('normal! zv')
    end
  end
  local window = shown_in()[1]
  if window and loader.builder then
    vim.api.nvim_set_current_win(window)
    vim.cmd("normal! m'")
    go()
  else
    M.open(go)
  end
end

---Returns the item under the cursor, in the context buffer.
---@return ullage.Item?
function M.item_under_cursor() return M.is_current() and keys.item(view) or nil end

---Returns the message under the cursor, in the context buffer.
---@return ullage.Entry?
function M.entry_under_cursor() return M.is_current() and keys.entry(view) or nil end

---Returns the lines of the quickfix list of a search: the hits without the buffer's name, which is the same for all.
---@param info { id: integer, start_idx: integer, end_idx: integer }
function M.hit_lines(info)
  local list = vim.fn.getqflist({ id = info.id, items = 1 }).items
  return words.pluck(vim.list_slice(list, info.start_idx, info.end_idx), 'text')
end

---Puts the hits of a search into a quickfix list with places in the conversation, and goes to the first one.
---@param found ullage.SearchResult
function M.show_hits(query, found)
  M.open(function()
    local list = {}
    for _, hit in ipairs(found.hits) do
      local item = loader.builder.by_message[hit.messageId]
      local at = item and view:row_of(item)
      if at then
        local text = (hit.snippet:gsub('%*%*', ''):gsub('%s+', ' '))
        text = ('%s %s'):format(words.number(hit.index), text)
        list[#list + 1] = { bufnr = view.buffer, lnum = at, col = 1, text = text }
      end
    end
    vim.fn.setqflist({}, ' ', {
      title = vim.trim(('Ullage search: %s  %s'):format(query, found.note)),
      items = list,
      quickfixtextfunc = "v:lua.require'ullage.context'.hit_lines",
    })
    -- Before the list opens: from the list, Neovim would show the conversation in one more window.
    vim.cmd('silent! cfirst')
    vim.cmd('botright copen')
    windows.dress(0, { wrap = false })
    if found.note ~= '' then require('ullage.notices').say(found.note) end
  end)
end

---`:Ullage search`
function M.search(query)
  session.call('context/search', { query = query, limit = 50 }, function(result)
    local notices = require('ullage.notices')
    if #result.hits == 0 then
      notices.say(vim.trim(('Nothing was said about “%s”. %s'):format(query, result.note)))
    else
      M.show_hits(query, result)
    end
  end)
end

return M
