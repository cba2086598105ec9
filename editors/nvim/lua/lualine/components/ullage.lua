-- `sections = { lualine_x = { 'ullage' } }`
local Component = require('lualine.component'):extend()

function Component:init(options)
  -- Only the colour of the text: the background is lualine's.
  options.color = options.color
    or function()
      local group = require('ullage.status').group
      local fg = group ~= 'UllageNormal' and vim.api.nvim_get_hl(0, { name = group, link = false }).fg
      return fg and { fg = ('#%06x'):format(fg) } or nil
    end
  Component.super.init(self, options)
end

-- lualine writes the text into a statusline, where a bare percent sign would break it.
function Component:update_status() return (require('ullage').status():gsub('%%', '%%%%')) end

return Component
