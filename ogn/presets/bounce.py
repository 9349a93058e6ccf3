# Lets points fall and bounce on the ground. Positions and velocities live in the node from frame to frame.

# custom point3f[] inputs:x
# custom point3f[] state:x
# custom point3f[] outputs:x

# custom vector3f[] state:v
# custom token inputs:v:length = "x"

# custom float inputs:dt = 0.0104166667
# custom float inputs:gravity = 9.81
# custom float inputs:spring = 0.7
# custom int inputs:substeps = 4


@wp.kernel
def bounce(x: wp.array[wp.vec3], v: wp.array[wp.vec3], dt: float, gravity: float, spring: float):
    i = wp.tid()
    speed = v[i] - wp.vec3(0.0, gravity * dt, 0.0)
    place = x[i] + dt * speed
    if place[1] < 0.0:
        place = wp.vec3(place[0], 0.0, place[2])
        speed = wp.vec3(speed[0], spring * wp.abs(speed[1]), speed[2])
    v[i] = speed
    x[i] = place
