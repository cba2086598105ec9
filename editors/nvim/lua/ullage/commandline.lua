-- The command line, in which Neovim's own notifications and lists are shown. A text that is longer than the command line,
-- or a list that is longer than the screen, would stop the user with a prompt.
local words = require('ullage.words')

local M = {}

-- Cells. A notice on a narrower command line says nothing.
local SHORTEST = 20
-- What Neovim writes after a list.
local QUESTION = 'Type number and <Enter> or click with the mouse (q or empty cancels): '

---Whether a function is Neovim's own, which no plugin has replaced.
---@param func function
function M.owns(func)
  -- Neovim 0.12 strips the functions that are built in of their file's name. Others are in the runtime's folder.
  local source = debug.getinfo(func, 'S').source
  local is_builtin = source:find('^@vim/') or source:find('^=?%?$')
  return is_builtin ~= nil or vim.startswith(source, '@' .. vim.env.VIMRUNTIME)
end

---Shortens a text so that it fits on the command line.
---@param text string
---@param hint string stays whole
---@param remedy? string replaces an empty hint if the text is cut
---@return string
function M.fit(text, hint, remedy)
  local line = text:gsub('%s*\n%s*', ' ')
  local room = math.max(vim.v.echospace, SHORTEST)
  if hint == '' and vim.fn.strdisplaywidth(line) > room and room >= 2 * SHORTEST then
    hint = remedy or hint
  end
  return words.fit(line, room - vim.fn.strdisplaywidth(hint)) .. hint
end

---Returns the rows of the screen that a text takes.
local function rows(text)
  return math.ceil(math.max(1, vim.fn.strdisplaywidth(text)) / vim.o.columns)
end

-- The element that shows the rest of a list. It is compared by identity.
local MORE = {}

---Lets the user choose, as |vim.ui.select()| does. Neovim's own list shows each element on one line, and as many as the
---screen has room for; its last element leads to the next ones. The list of a plugin gets all.
---@generic T
---@param list T[]
---@param options { prompt: string, format_item?: fun(item: T): string }
---@param on_choice fun(item?: T, number?: integer)
function M.select(list, options, on_choice)
  if not M.owns(vim.ui.select) then
    return vim.ui.select(list, options, on_choice)
  end
  local format = options.format_item or tostring
  local room = math.max(2, vim.o.lines - rows(options.prompt) - rows(QUESTION) - 1)
  local cells = vim.o.columns - #('%d: '):format(#list) - 1
  local function page(first)
    local shown = vim.list_slice(list, first, first + room - 1)
    if first + room - 1 < #list then
      shown[room] = MORE
    end
    local function label(item)
      return words.fit(item == MORE and ('%d more…'):format(#list - first - room + 2) or format(item), cells)
    end
    vim.ui.select(shown, { prompt = options.prompt, format_item = label }, function(item, number)
      if item == MORE then
        vim.schedule(function()
          page(first + room - 1)
        end)
      else
        on_choice(item, number and first + number - 1)
      end
    end)
  end
  page(1)
end

return M
