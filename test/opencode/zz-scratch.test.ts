import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { startOpenCode } from '../rig/opencode';
import { write, subagent, todos } from '../rig/script';
import { gatewayTo, generations } from './gateway-fixture';
const out: string[] = [];
const say = (...a: unknown[]) => out.push(a.map((x) => (typeof x === 'string' ? x : JSON.stringify(x))).join(' '));
describe.each(generations)('scratch %s', (generation) => {
  it('x', async () => {
    const server = await startOpenCode({ generation });
    const gateway = await gatewayTo(server);
    try {
      const s = await server.createSession('One');
      await server.turn(s, 'go', [{ text: 'W', tools: [write('a.txt', '1')] }, { text: 'Done.' }]);
      if (generation === 'v1') await server.turn(s, 'plan', [{ tools: [todos('a', 'b')] }, { text: 'ok' }]);
      server.model.on('child prompt', [{ text: 'child answer' }]);
      await server.turn(s, 'delegate', [{ tools: [subagent('child prompt')] }, { text: 'ok' }]);
      // second project
      const other = join(server.home, 'other'); await mkdir(other); await writeFile(join(other, 'x'), 'x');
      if (generation === 'v1') say(await server.request('POST', `/session?directory=${encodeURIComponent(other)}`, { title: 'Other' }));
      else say(await server.request('POST', `/api/session`, { title: 'Other', location: { directory: other } }));
      const all = generation === 'v1'
        ? await server.request('GET', '/experimental/session?limit=100000')
        : await server.request('GET', '/api/session?limit=200');
      say('ALL', all.status, JSON.stringify(all.body));
      if (generation === 'v1') { const a2 = await server.request('GET', '/experimental/session?limit=1'); say('limit1', a2.body);
         say('paths', (await server.request('GET','/path')).body); say('project', (await server.request('GET','/project')).body);}
      const info = await gateway.get(s);
      const msgs = await gateway.messages(s);
      say('info', info.updatedAt, 'lastmsg', msgs.map(m=>[m.type,m.createdAt-info.updatedAt,(m.completedAt??0)-info.updatedAt]));
      const doc = await gateway.exportSession(s);
      say('docinfo', doc.info);
      const kids = (await gateway.list(server.workspace)).filter(x=>x.parentId);
      say('kids', kids);
      // note changes updated?
      await gateway.note(s, '[Checkpoints] hello');
      say('after note', (await gateway.get(s)).updatedAt - info.updatedAt);
      if (generation==='v1') { const last = msgs.at(-1)!; const r = await server.request('DELETE', `/session/${s}/message/${last.id}`); say('delmsg', r.status, (await gateway.get(s)).updatedAt - info.updatedAt); }
      // delete and restore
      const kid = kids[0]!; const kdoc = await gateway.exportSession(kid.id);
      const tds = await gateway.todos(s);
      await gateway.remove(s);
      say('kid gone?', await gateway.get(kid.id).then(()=> 'there', (e)=>String(e)));
      const kb = await gateway.importSession(kdoc, { directory: server.workspace }).then((x)=>x, (e)=>String(e));
      say('kid first import', kb);
      if (typeof kb !== 'string') await gateway.remove(kid.id);
      const back = await gateway.importSession(doc, { directory: server.workspace });
      say('back', back, 'upd diff', back.updatedAt - info.updatedAt);
      const kb2 = await gateway.importSession(kdoc, { directory: server.workspace }).then((x)=>x, (e)=>String(e));
      say('kid second import', kb2);
      const doc2 = await gateway.exportSession(s);
      say('same messages', JSON.stringify(doc2.messages)===JSON.stringify(doc.messages), 'info2', doc2.info);
      if (tds) { say('todos', tds, await gateway.writeTodos(s, tds), await gateway.todos(s)); }
      await server.turn(s, 'again', [{ text: 'again ok' }]);
      say((await gateway.messages(s)).at(generation==='v1'?-1:-2)?.text ?? '');
    } finally { await server.dispose(); await writeFile(`/tmp/scratch-${generation}.txt`, out.join('\n')); out.length=0; }
  });
});
