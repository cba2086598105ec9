import { after, before, test } from 'node:test';
import { Workbench } from './rig/workbench.ts';
let workbench: Workbench;
before(async () => { workbench = await Workbench.open('smoke'); });
after(async () => { await workbench.close(false); });
test('comes up', async () => {
  await workbench.reads(/Ullage/);
  await workbench.run('New Session');
  await workbench.toast('hello');
  await workbench.shot('ready');
  const driver = await workbench.driver();
  console.log(await driver.ask('x', {}));
  await workbench.clearToasts();
});
