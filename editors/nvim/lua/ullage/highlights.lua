-- Highlight groups, each linked to one that every colour scheme has, and their variants for a statusline.
local M = {}

M.LINKS = {
  UllageNormal = 'StatusLine',
  UllageWarn = 'DiagnosticWarn',
  UllageCritical = 'DiagnosticError',
  UllageError = 'DiagnosticError',
  UllageBusy = 'DiagnosticInfo',
  UllageDone = 'DiagnosticOk',
  UllageTitle = 'Title',
  UllageMuted = 'Comment',
  UllageArchived = 'Comment',
  UllageMarker = 'Special',
  UllageSummary = 'Normal',
  UllageCode = 'String',
  UllageLink = 'Underlined',
  UllageUser = 'Identifier',
  UllageAssistant = 'Function',
  UllageSystem = 'PreProc',
  UllageTool = 'Type',
  UllageTokens = 'Number',
  UllagePinned = 'Constant',
  UllageGaugeEmpty = 'NonText',
  UllageGaugeFull = 'DiagnosticOk',
}

-- The groups that are shown in a statusline, and the bars in which they are: of the current window, and of others.
local IN_BAR = { 'UllageWarn', 'UllageCritical', 'UllageError', 'UllageBusy', 'UllageDone' }
local BARS = { Bar = 'StatusLine', BarNC = 'StatusLineNC' }

-- The least contrast of large or bold text, and of other text, by WCAG 2.1, 1.4.3.
local CONTRAST, TEXT_CONTRAST = 3, 4.5

---Returns the relative luminance of a colour, by WCAG 2.1.
---@param colour integer `0xRRGGBB`
local function luminance(colour)
  local sum = 0
  for shift, weight in pairs({ [16] = 0.2126, [8] = 0.7152, [0] = 0.0722 }) do
    local part = bit.band(bit.rshift(colour, shift), 255) / 255
    sum = sum + weight * (part <= 0.03928 and part / 12.92 or ((part + 0.055) / 1.055) ^ 2.4)
  end
  return sum
end

---@param one integer
---@param other integer
---@return number
local function contrast(one, other)
  local first, second = luminance(one), luminance(other)
  return (math.max(first, second) + 0.05) / (math.min(first, second) + 0.05)
end

M.contrast = contrast

local function colours(name)
  return vim.api.nvim_get_hl(0, { name = name, link = false })
end

---Returns the group's colour on the bar's background. If that cannot be read, the colour becomes the background.
---@param group string
---@param bar string
local function on_bar(group, bar)
  local level, base, normal = colours(group), colours(bar), colours('Normal')
  local fg, bg = level.fg, base.bg or normal.bg
  if base.reverse then
    bg = base.fg or normal.fg
  end
  local made = { bold = true, ctermfg = level.ctermfg, ctermbg = base.ctermbg, cterm = { bold = true } }
  if base.cterm and base.cterm.reverse then
    made.ctermfg, made.ctermbg = base.ctermfg, level.ctermfg
    made.cterm.reverse = true
  end
  if fg and bg and contrast(fg, bg) < CONTRAST then
    fg, bg = contrast(0x000000, fg) > contrast(0xffffff, fg) and 0x000000 or 0xffffff, fg
  end
  made.fg, made.bg = fg, bg
  return made
end

---Returns the group in which a text of the given group stands in a statusline. Before Neovim 0.12 a group without a
---background would have that of the text area there.
---@param group string
---@param is_current boolean the statusline of the current window
---@return string
function M.in_bar(group, is_current)
  return group .. (is_current and 'Bar' or 'BarNC')
end

---Returns the background of the text area.
local function text_background()
  return colours('Normal').bg or (vim.o.background == 'light' and 0xffffff or 0x000000)
end

---Returns the colour, mixed with as much of black or white as is needed to read it on the background.
---@param fg integer
---@param bg integer
---@return integer
local function readable(fg, bg)
  local other = contrast(0x000000, bg) > contrast(0xffffff, bg) and 0 or 255
  local mixed = fg
  for share = 1, 10 do
    if contrast(mixed, bg) >= TEXT_CONTRAST then
      break
    end
    mixed = 0
    for _, shift in ipairs({ 16, 8, 0 }) do
      local part = bit.band(bit.rshift(fg, shift), 255)
      mixed = mixed + bit.lshift(math.floor(part + (other - part) * share / 10 + 0.5), shift)
    end
  end
  return mixed
end

---@type table<string, vim.api.keyset.get_hl_info> the colours that a group was given instead of its link
local given = {}

---Links a group, unless it is the user's. Neovim's colours of diagnostics are for a dark background, and most light
---schemes do not replace them: a group that could not be read gets its target's colour in a readable shade.
---@param group string
---@param target string
local function link(group, target)
  local current = vim.api.nvim_get_hl(0, { name = group })
  if not (vim.tbl_isempty(current) or current.link == target or vim.deep_equal(current, given[group])) then
    return
  end
  local of = colours(target)
  local shade = target:find('^Diagnostic') and of.fg and readable(of.fg, text_background()) or of.fg
  if shade == of.fg then
    vim.api.nvim_set_hl(0, group, { link = target, default = vim.tbl_isempty(current) })
  else
    vim.api.nvim_set_hl(0, group, { fg = shade, ctermfg = of.ctermfg })
    given[group] = vim.api.nvim_get_hl(0, { name = group })
  end
end

function M.setup()
  for group, target in pairs(M.LINKS) do
    link(group, target)
  end
  vim.api.nvim_set_hl(0, 'UllageStrong', { bold = true, default = true })
  vim.api.nvim_set_hl(0, 'UllageEmphasis', { italic = true, default = true })
  for _, group in ipairs(IN_BAR) do
    for suffix, bar in pairs(BARS) do
      vim.api.nvim_set_hl(0, group .. suffix, on_bar(group, bar))
    end
  end
end

return M
