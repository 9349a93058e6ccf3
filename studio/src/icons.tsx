/** Icons of the studio, 16 by 16. */

const PATHS: Record<string, string> = {
  play: "M4.5 3v10l8-5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  back: "M11.5 3v10l-6-5zM4 3h1.5v10H4z",
  next: "M4.5 3v10l6-5zM10.5 3H12v10h-1.5z",
  start: "M12 3v10L7 8zM7 3v10L2 8z",
  loop: "M4 5h6.5V2.8L14 6l-3.5 3.2V7H5v3H3V6a1 1 0 0 1 1-1zm8 6H5.500v2.200L2 10l3.500-3.200V9H11V6h2v4a1 1 0 0 1-1 1z",
  sun: "M8 4.500A3.500 3.500 0 1 1 8 11.500 3.500 3.500 0 0 1 8 4.500zM7.300 1h1.400v2H7.300zM7.300 13h1.400v2H7.300zM1 7.300h2v1.400H1zM13 7.300h2v1.400h-2z",
  moon: "M13 9.600A5.500 5.500 0 0 1 6.400 3 5.500 5.500 0 1 0 13 9.600z",
  warning: "M8 1.500 15 14H1zM7.200 6v4h1.600V6zM7.200 11v1.600h1.600V11z",
};

export function Icon({ name }: { name: string }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" fill="currentColor" fillRule="evenodd">
      <path d={PATHS[name]} />
    </svg>
  );
}
