-- Highlight groups, each linked to one that every colour scheme has.
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
  UllageUser = 'Identifier',
  UllageAssistant = 'Function',
  UllageSystem = 'PreProc',
  UllageTool = 'Type',
  UllageTokens = 'Number',
  UllagePinned = 'Constant',
  UllageGaugeEmpty = 'NonText',
  UllageGaugeFull = 'DiagnosticOk',
}

---Links each group to its target, unless the user or the colour scheme has set it.
function M.setup()
  for group, target in pairs(M.LINKS) do
    vim.api.nvim_set_hl(0, group, { link = target, default = true })
  end
end

return M
