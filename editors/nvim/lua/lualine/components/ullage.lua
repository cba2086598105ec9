-- `sections = { lualine_x = { 'ullage' } }`
local Component = require('lualine.component'):extend()

function Component:init(options)
  options.color = options.color or function()
    return require('ullage.status').group
  end
  Component.super.init(self, options)
end

-- lualine writes the text into a statusline, where a bare percent sign would break it.
function Component:update_status()
  return (require('ullage').status():gsub('%%', '%%%%'))
end

return Component
