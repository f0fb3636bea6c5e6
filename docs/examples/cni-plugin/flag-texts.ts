import type { FLAGS } from './program.js'

/** What each flag of the plugin does: apart from the program, to keep that small. */
export const FLAG_TEXTS: { readonly [name in keyof typeof FLAGS]: string } = {
  rules:
    '`upstream`, of the type `whereabouts`: reads configurations as upstream does, with its texts. DEL succeeds ' +
    'if the API server cannot be reached or refuses',
  sticky: '`pod`: a new container of a Pod name gets the address of the container before. Not on blocks',
  'claim-owners':
    'of the type `whereabouts`: an ADD makes the claim that its interface names, for an owner of these kinds, ' +
    '`GROUP/VERSION/PLURAL/KIND` with commas between',
  record:
    'a folder with a file for each container of this Node. GC frees more with it, and no row of a file without it',
  daemon: 'answers other calls at this socket, in place of one call',
  socket: 'passes the call on to the daemon at this socket',
  fallback: '`thin`: carries out the call in this process if the daemon has not begun it',
}
