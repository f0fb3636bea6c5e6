import type { StoreAddress } from '../open-store.js'

/** How the stores are written on a command line. */
export const storeForms = 'memory, pglite:DIR, sqlite:FILE, postgres:URL, redis:URL, etcd:URL or kubernetes[:CONTEXT]'

type Parsed = { readonly address: StoreAddress | undefined } | { readonly problem: string }

/**
 * The address that `--store` names: `undefined` for the memory of the process. No part of the text
 * stands in a problem: there may be a password in it.
 */
export function parseStoreAddress(text: string): Parsed {
  const [, engine = '', , rest = ''] = /^([a-z]+)(:(.*))?$/s.exec(text) ?? []
  switch (engine) {
    case 'memory':
      return text === 'memory' ? { address: undefined } : { problem: 'memory is written alone' }
    case 'kubernetes':
      return { address: { engine, place: rest } }
    case 'pglite':
    case 'sqlite':
      return rest === '' ? { problem: `${engine} needs a name behind the colon` } : { address: { engine, place: rest } }
    case 'postgres':
    case 'postgresql':
      return atUrl('postgres', rest.startsWith('//') ? text : rest, ['postgres:', 'postgresql:'])
    case 'redis':
    case 'rediss':
      return atUrl('redis', rest.startsWith('//') ? text : rest, ['redis:', 'rediss:'])
    case 'etcd':
      return atUrl('etcd', rest, ['http:', 'https:'])
    default:
      return { problem: 'there is no such store' }
  }
}

/** With or without `ENGINE:` in front of a URL that says it itself. */
function atUrl(engine: 'postgres' | 'redis' | 'etcd', place: string, protocols: readonly string[]): Parsed {
  const urls = (engine === 'etcd' ? place.split(',') : [place]).map(parseUrl)
  if (!urls.every((url) => url !== undefined && protocols.includes(url.protocol))) {
    return { problem: `${engine} needs a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}` }
  }
  if (engine === 'etcd' && urls.some((url) => url?.username || url?.password)) {
    return { problem: 'etcd takes no user and password in its URL' }
  }
  return { address: { engine, place } }
}

function parseUrl(text: string): URL | undefined {
  return /^[a-z]+:\/\//.test(text) && URL.canParse(text) ? new URL(text) : undefined
}
