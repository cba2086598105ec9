-- Colours and figures of the lines on the screen. Nothing is stored for other lines.
local views = require('ullage.context.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('ullage.context')

local function mark(buffer, line, column, options)
  options.ephemeral = true
  vim.api.nvim_buf_set_extmark(buffer, namespace, line, column, options)
end

---Returns what stands at the right edge of a row: the pin, the tokens, and before them a sign if they hide text.
---@param row ullage.Row
---@param width integer cells of the window
local function figures(row, width)
  local pieces, cells = {}, 0
  local function add(text, group)
    pieces[#pieces + 1] = { text, group }
    cells = cells + vim.fn.strdisplaywidth(text)
  end
  if row.pinned then
    add(' ● pinned ', 'UllagePinned')
  end
  if row.right then
    add(('%6s '):format(row.right), row.item.archived and 'UllageArchived' or 'UllageTokens')
  end
  if row.kind == 'item' and vim.fn.strdisplaywidth(row.text) > width - cells then
    table.insert(pieces, 1, { '… ', 'UllageMuted' })
  end
  return pieces
end

---@param window integer
local function width_of(window)
  return vim.api.nvim_win_get_width(window) - vim.fn.getwininfo(window)[1].textoff
end

local function draw(window, buffer, line)
  local row = views.by_buffer[buffer].rows[line + 1]
  if not row then
    return
  end
  for _, span in ipairs(row.spans) do
    mark(buffer, line, span[1], { end_col = span[2], hl_group = span[3], url = span.url })
  end
  local right = figures(row, width_of(window))
  if #right > 0 then
    mark(buffer, line, 0, { virt_text = right, virt_text_pos = 'right_align', hl_mode = 'combine' })
  end
  if row.section or (row.item and row.item.kind == 'archived') then
    local closed = vim.api.nvim_win_call(window, function()
      return vim.fn.foldclosed(line + 1) ~= -1
    end)
    local sign = closed and '▸' or '▾'
    -- The heading of a section is indented.
    local column = row.section and 2 or 0
    mark(buffer, line, column, { virt_text = { { sign, 'UllageArchived' } }, virt_text_pos = 'overlay' })
  end
end

function M.setup()
  vim.api.nvim_set_decoration_provider(namespace, {
    on_win = function(_, _, buffer)
      return views.by_buffer[buffer] ~= nil
    end,
    on_line = function(_, window, buffer, line)
      draw(window, buffer, line)
    end,
  })
end

return M
